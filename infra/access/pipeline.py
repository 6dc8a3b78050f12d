"""What a pipeline runs as: it starts and watches the steps and reads the evaluation."""

from dataclasses import dataclass

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.access.data import EVALUATIONS, MODELS, DataAccess
from infra.access.jobs import PIPELINE_JOBS
from infra.access.statements import (
    PULL_ACTIONS,
    SAGEMAKER,
    acting_for,
    finding,
    policy,
    sagemaker_arn,
)
from infra.checks.nag import acknowledge
from infra.pipeline.deployment import EXECUTIONS_FOLDER, Deployment


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineAccess:
    """What one pipeline starts."""

    pipeline_name: str
    deployment: Deployment
    data: DataAccess


class PipelineRole(Construct):
    """Starts jobs as their own roles, invokes Preflight, registers models."""

    def __init__(self, scope: Construct, construct_id: str, *, access: PipelineAccess) -> None:
        super().__init__(scope, construct_id)
        stack = Stack.of(self)
        pipeline_arn = sagemaker_arn(stack, f"pipeline/{access.pipeline_name}")
        self.role = iam.Role(
            self,
            "Role",
            description=f"Pipeline {access.pipeline_name}: starts and watches its steps",
            assumed_by=acting_for(SAGEMAKER, pipeline_arn, f"{pipeline_arn}/*"),
            inline_policies={
                "jobs": _jobs_policy(stack, access.deployment),
                "models": _models_policy(stack, access),
                "preflight": policy(
                    {access.deployment.preflight_function_arn: ["lambda:InvokeFunction"]}
                ),
                "outputs": _outputs_policy(access.data),
            },
        )
        acknowledge(self.role, _reasons(stack, access))


def _reasons(stack: Stack, access: PipelineAccess) -> dict[str, str]:
    group = access.deployment.model_package_group_name
    return {
        access.data.finding(EVALUATIONS): "Execution ids are made at run time. One file each.",
        access.data.finding(MODELS): "Execution ids and job names are made at run time.",
        finding(stack, "sagemaker", f"training-job/{PIPELINE_JOBS}"): (
            "Pipelines make their jobs' names, with this start."
        ),
        finding(stack, "sagemaker", f"processing-job/{PIPELINE_JOBS}"): (
            "Pipelines make their jobs' names, with this start."
        ),
        finding(
            stack, "sagemaker", f"model-package/{group}/*"
        ): "The registry numbers the versions.",
    }


def _jobs_policy(stack: Stack, deployment: Deployment) -> iam.PolicyDocument:
    document = policy(
        {
            sagemaker_arn(stack, f"training-job/{PIPELINE_JOBS}"): [
                "sagemaker:AddTags",
                "sagemaker:CreateTrainingJob",
                "sagemaker:DescribeTrainingJob",
                "sagemaker:StopTrainingJob",
            ],
            sagemaker_arn(stack, f"processing-job/{PIPELINE_JOBS}"): [
                "sagemaker:AddTags",
                "sagemaker:CreateProcessingJob",
                "sagemaker:DescribeProcessingJob",
                "sagemaker:StopProcessingJob",
            ],
        }
    )
    document.add_statements(
        iam.PolicyStatement(
            actions=["iam:PassRole"],
            resources=[deployment.training_role_arn, deployment.evaluation_role_arn],
            conditions={"StringEquals": {"iam:PassedToService": SAGEMAKER}},
        )
    )
    return document


def _models_policy(stack: Stack, access: PipelineAccess) -> iam.PolicyDocument:
    group = access.deployment.model_package_group_name
    return policy(
        {
            sagemaker_arn(stack, f"model-package-group/{group}"): [
                "sagemaker:AddTags",
                "sagemaker:CreateModelPackage",
                "sagemaker:DescribeModelPackageGroup",
            ],
            sagemaker_arn(stack, f"model-package/{group}/*"): [
                "sagemaker:AddTags",
                "sagemaker:CreateModelPackage",
                "sagemaker:DescribeModelPackage",
            ],
            # The registry looks at the image and the model that it takes in.
            access.data.image_repository_arn: [*PULL_ACTIONS, "ecr:DescribeImages"],
            access.data.bucket.arn_for_objects(MODELS): ["s3:GetObject"],
        }
    )


def _outputs_policy(access: DataAccess) -> iam.PolicyDocument:
    document = policy(
        {
            # The quality gate reads the evaluation file with the pipeline's own role.
            access.bucket.arn_for_objects(EVALUATIONS): ["s3:GetObject"],
            access.key.key_arn: ["kms:Decrypt"],
        }
    )
    document.add_statements(
        # Without it a missing file is "access denied", which sends people looking for rights.
        iam.PolicyStatement(
            actions=["s3:ListBucket"],
            resources=[access.bucket.bucket_arn],
            conditions={"StringLike": {"s3:prefix": f"{EXECUTIONS_FOLDER}/*"}},
        )
    )
    return document
