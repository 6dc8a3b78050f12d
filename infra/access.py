"""The roles of the pipelines and of their jobs. Every action is named.

Policies are inline: they exist as soon as the role does, before a pipeline uses it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aws_cdk import ArnFormat, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.checks.nag import acknowledge
from infra.pipeline.deployment import Deployment

_BUCKET_ARN_EXPORT = "ExportsOutputFnGetAttData666C94C7Arn0D7E21B7"
"""CDK's name for the data bucket's ARN between the stacks; part of a finding's name below."""

_ACCOUNT_ARN = "arn:<AWS::Partition>:{}:<AWS::Region>:<AWS::AccountId>"
"""How cdk-nag writes the start of an ARN of this account."""

_PULL_ACTIONS = (
    "ecr:BatchCheckLayerAvailability",
    "ecr:BatchGetImage",
    "ecr:GetDownloadUrlForLayer",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataAccess:
    """What jobs and pipelines read and write."""

    storage_stack_name: str
    bucket: s3.IBucket
    key: kms.IKey
    image_repository_arn: str

    def finding(self, objects: str) -> str:
        """cdk-nag's name for access to these objects of the data bucket, `executions/*` say."""
        return f"IAM5[Resource::{self.storage_stack_name}:{_BUCKET_ARN_EXPORT}/{objects}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineAccess:
    """What one pipeline starts."""

    pipeline_name: str
    deployment: Deployment
    data: DataAccess


class JobRole(Construct):
    """What training and evaluation jobs run as.

    The containers get no credentials, since network isolation is on: SageMaker moves inputs,
    outputs, logs and metrics for them with this role.
    """

    def __init__(self, scope: Construct, construct_id: str, *, access: DataAccess) -> None:
        super().__init__(scope, construct_id)
        stack = Stack.of(self)
        self.role = iam.Role(
            self,
            "Role",
            description="Training and evaluation jobs: data, outputs, logs, metrics, image",
            assumed_by=_sagemaker_acting_for(
                _sagemaker_arn(stack, "training-job/*"), _sagemaker_arn(stack, "processing-job/*")
            ),
            inline_policies={
                "data": _data_policy(access),
                "logs-and-metrics": _logs_and_metrics_policy(stack),
                "image": _policy(
                    {
                        access.image_repository_arn: _PULL_ACTIONS,
                        "*": ["ecr:GetAuthorizationToken"],
                    }
                ),
            },
        )
        acknowledge(
            self.role,
            {
                access.finding("*"): "Data may lie anywhere in the data bucket; reading only.",
                access.finding(
                    "executions/*"
                ): "Each execution writes below an id made at run time.",
                f"IAM5[Resource::{_ACCOUNT_ARN.format('logs')}:log-group:/aws/sagemaker/*]": (
                    "SageMaker names the log groups of its jobs; all lie below this name."
                ),
                "IAM5[Resource::*]": (
                    "cloudwatch:PutMetricData and ecr:GetAuthorizationToken have no resources."
                ),
            },
        )


class PipelineRole(Construct):
    """What a pipeline runs as: it starts and watches the steps and reads the evaluation."""

    def __init__(self, scope: Construct, construct_id: str, *, access: PipelineAccess) -> None:
        super().__init__(scope, construct_id)
        stack = Stack.of(self)
        pipeline_arn = _sagemaker_arn(stack, f"pipeline/{access.pipeline_name}")
        self.role = iam.Role(
            self,
            "Role",
            description=f"Pipeline {access.pipeline_name}: starts and watches its steps",
            assumed_by=_sagemaker_acting_for(pipeline_arn, f"{pipeline_arn}/*"),
            inline_policies={
                "jobs": _jobs_policy(stack, access.deployment.job_role_arn),
                "models": _models_policy(stack, access),
                "preflight": _policy(
                    {access.deployment.preflight_function_arn: ["lambda:InvokeFunction"]}
                ),
                # The quality gate reads the evaluation file with the pipeline's own role.
                "outputs": _outputs_policy(access.data),
            },
        )
        sagemaker = f"IAM5[Resource::{_ACCOUNT_ARN.format('sagemaker')}:"
        group = access.deployment.model_package_group_name
        acknowledge(
            self.role,
            {
                access.data.finding("executions/*"): "Execution ids are made at run time.",
                f"{sagemaker}training-job/pipelines-*]": "Pipelines make their jobs' names.",
                f"{sagemaker}processing-job/pipelines-*]": "Pipelines make their jobs' names.",
                f"{sagemaker}model-package/{group}/*]": "The registry numbers the versions.",
            },
        )


def _data_policy(access: DataAccess) -> iam.PolicyDocument:
    return _policy(
        {
            access.bucket.bucket_arn: ["s3:ListBucket"],
            access.bucket.arn_for_objects("*"): ["s3:GetObject"],
            access.bucket.arn_for_objects("executions/*"): [
                "s3:AbortMultipartUpload",
                "s3:PutObject",
            ],
            # An output's KmsKeyId wants kms:Encrypt too, says the service model.
            access.key.key_arn: [
                "kms:Decrypt",
                "kms:DescribeKey",
                "kms:Encrypt",
                "kms:GenerateDataKey",
            ],
        }
    )


def _logs_and_metrics_policy(stack: Stack) -> iam.PolicyDocument:
    log_groups = stack.format_arn(
        service="logs",
        resource="log-group",
        resource_name="/aws/sagemaker/*",
        arn_format=ArnFormat.COLON_RESOURCE_NAME,
    )
    return _policy(
        {
            log_groups: [
                "logs:CreateLogGroup",
                "logs:CreateLogStream",
                "logs:DescribeLogStreams",
                "logs:PutLogEvents",
            ],
            "*": ["cloudwatch:PutMetricData"],
        }
    )


def _jobs_policy(stack: Stack, job_role_arn: str) -> iam.PolicyDocument:
    # Pipelines name their jobs pipelines-<execution>-<step>-<suffix>.
    policy = _policy(
        {
            _sagemaker_arn(stack, "training-job/pipelines-*"): [
                "sagemaker:AddTags",
                "sagemaker:CreateTrainingJob",
                "sagemaker:DescribeTrainingJob",
                "sagemaker:StopTrainingJob",
            ],
            _sagemaker_arn(stack, "processing-job/pipelines-*"): [
                "sagemaker:AddTags",
                "sagemaker:CreateProcessingJob",
                "sagemaker:DescribeProcessingJob",
                "sagemaker:StopProcessingJob",
            ],
        }
    )
    policy.add_statements(
        iam.PolicyStatement(
            actions=["iam:PassRole"],
            resources=[job_role_arn],
            conditions={"StringEquals": {"iam:PassedToService": "sagemaker.amazonaws.com"}},
        )
    )
    return policy


def _models_policy(stack: Stack, access: PipelineAccess) -> iam.PolicyDocument:
    group = access.deployment.model_package_group_name
    return _policy(
        {
            _sagemaker_arn(stack, f"model-package-group/{group}"): [
                "sagemaker:AddTags",
                "sagemaker:CreateModelPackage",
                "sagemaker:DescribeModelPackageGroup",
            ],
            _sagemaker_arn(stack, f"model-package/{group}/*"): [
                "sagemaker:AddTags",
                "sagemaker:CreateModelPackage",
                "sagemaker:DescribeModelPackage",
            ],
            access.data.image_repository_arn: [*_PULL_ACTIONS, "ecr:DescribeImages"],
        }
    )


def _outputs_policy(access: DataAccess) -> iam.PolicyDocument:
    policy = _policy(
        {
            access.bucket.arn_for_objects("executions/*"): ["s3:GetObject"],
            access.key.key_arn: ["kms:Decrypt"],
        }
    )
    policy.add_statements(
        # Without it a missing file is "access denied", which sends people looking for rights.
        iam.PolicyStatement(
            actions=["s3:ListBucket"],
            resources=[access.bucket.bucket_arn],
            conditions={"StringLike": {"s3:prefix": "executions/*"}},
        )
    )
    return policy


def _policy(actions_by_resource: Mapping[str, Sequence[str]]) -> iam.PolicyDocument:
    return iam.PolicyDocument(
        statements=[
            iam.PolicyStatement(actions=list(actions), resources=[resource])
            for resource, actions in actions_by_resource.items()
        ]
    )


def _sagemaker_arn(stack: Stack, resource: str) -> str:
    return stack.format_arn(
        service="sagemaker", resource=resource, arn_format=ArnFormat.NO_RESOURCE_NAME
    )


def _sagemaker_acting_for(*source_arns: str) -> iam.IPrincipal:
    """SageMaker, but only on behalf of these resources of this account (confused deputy)."""
    return iam.ServicePrincipal(
        "sagemaker.amazonaws.com",
        conditions={"ArnLike": {"aws:SourceArn": list(source_arns)}},
    )
