"""What training and evaluation jobs run as.

The containers get no credentials, since network isolation is on: SageMaker moves inputs, outputs,
logs and metrics for them with these roles.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aws_cdk import ArnFormat, Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.access.data import (
    CHECKPOINTS,
    DATASETS,
    EVALUATION_OUTPUTS,
    LEND_KEY,
    MODELS,
    SYNC_OBJECTS,
    TENSORBOARD_OUTPUTS,
    TRAINING_OUTPUTS,
    USE_KEY,
    WRITE_OBJECTS,
    DataAccess,
)
from infra.access.network_interfaces import (
    network_interface_policy,
    network_interface_reasons,
)
from infra.access.statements import (
    PULL_ACTIONS,
    SAGEMAKER,
    acting_for,
    finding,
    policy,
    sagemaker_arn,
)
from infra.checks.nag import acknowledge
from infra.pipeline.deployment import JobNetwork

PIPELINE_JOBS = "pipelines-*"
"""Pipelines name their jobs pipelines-<execution>-<step>-<suffix>. Source: docs/facts.md 4."""

LOG_ACTIONS = (
    "logs:CreateLogGroup",
    "logs:CreateLogStream",
    "logs:DescribeLogStreams",
    "logs:PutLogEvents",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _JobKind:
    description: str
    resource: str
    """Of the job's ARN."""
    logs: str
    """Its log group, and the namespace of its metrics."""
    objects: Mapping[str, Sequence[str]]
    """Objects of the data bucket -> actions."""


_TRAINING = _JobKind(
    description="Training jobs: data, models, logs, metrics, image",
    resource="training-job",
    logs="/aws/sagemaker/TrainingJobs",
    objects={
        DATASETS: ["s3:GetObject"],
        TRAINING_OUTPUTS: WRITE_OBJECTS,
        TENSORBOARD_OUTPUTS: WRITE_OBJECTS,
        CHECKPOINTS: SYNC_OBJECTS,
    },
)
_EVALUATION = _JobKind(
    description="Evaluation jobs: test data and models, results, logs, metrics, image",
    resource="processing-job",
    logs="/aws/sagemaker/ProcessingJobs",
    objects={
        DATASETS: ["s3:GetObject"],
        MODELS: ["s3:GetObject"],
        EVALUATION_OUTPUTS: WRITE_OBJECTS,
    },
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobAccess:
    """What jobs work on, and where."""

    data: DataAccess
    network: JobNetwork | None
    """None: SageMaker's own."""
    have_volumes: bool
    """Whether their hosts have volumes, which are encrypted with the data's key."""


class TrainingRole(Construct):
    """Reads data sets, writes below its executions' training folders."""

    def __init__(self, scope: Construct, construct_id: str, *, access: JobAccess) -> None:
        super().__init__(scope, construct_id)
        self.role = _job_role(self, _TRAINING, access)


class EvaluationRole(Construct):
    """Reads data sets and models, writes below its executions' evaluation folders."""

    def __init__(self, scope: Construct, construct_id: str, *, access: JobAccess) -> None:
        super().__init__(scope, construct_id)
        self.role = _job_role(self, _EVALUATION, access)


def _job_role(scope: Construct, kind: _JobKind, access: JobAccess) -> iam.Role:
    stack, data, network = Stack.of(scope), access.data, access.network
    role = iam.Role(
        scope,
        "Role",
        description=kind.description,
        assumed_by=acting_for(SAGEMAKER, sagemaker_arn(stack, f"{kind.resource}/{PIPELINE_JOBS}")),
        inline_policies={
            "data": _data_policy(kind, access),
            "logs-and-metrics": _logs_and_metrics_policy(stack, kind),
            "image": policy(
                {data.image_repository_arn: PULL_ACTIONS, "*": ["ecr:GetAuthorizationToken"]}
            ),
            **({"network": network_interface_policy(stack, network)} if network else {}),
        },
    )
    acknowledge(role, _reasons(stack, kind, data))
    if network:
        acknowledge(role, network_interface_reasons(stack))
    return role


def _reasons(stack: Stack, kind: _JobKind, access: DataAccess) -> dict[str, str]:
    folders = {
        DATASETS: "A starter chooses the data set; all lie in this folder. Reading only.",
        TRAINING_OUTPUTS: "Execution ids and job names are made at run time.",
        TENSORBOARD_OUTPUTS: "Execution ids are made at run time.",
        CHECKPOINTS: "Execution ids are made at run time. Nothing but checkpoints lies there.",
        MODELS: "Execution ids and job names are made at run time. Models only.",
        EVALUATION_OUTPUTS: "Execution ids are made at run time.",
    }
    return {
        **{access.finding(objects): folders[objects] for objects in kind.objects},
        finding(stack, "logs", f"log-group:{kind.logs}:log-stream:*"): (
            "Streams are named after jobs and hosts, which are named at run time."
        ),
        "IAM5[Resource::*]": (
            "cloudwatch:PutMetricData, which is bound to one namespace, ecr:GetAuthorizationToken "
            "and, in a VPC, ec2:Describe... have no resources."
        ),
    }


def _data_policy(kind: _JobKind, access: JobAccess) -> iam.PolicyDocument:
    data = access.data
    document = policy(
        {
            # Names, not contents, of any object: SageMaker may look at more than a prefix.
            data.bucket.bucket_arn: ["s3:ListBucket"],
            **{data.bucket.arn_for_objects(key): kind.objects[key] for key in kind.objects},
            data.key.key_arn: USE_KEY,
        }
    )
    if access.have_volumes:
        document.add_statements(
            iam.PolicyStatement(
                actions=[LEND_KEY],
                resources=[data.key.key_arn],
                conditions={"Bool": {"kms:GrantIsForAWSResource": "true"}},
            )
        )
    return document


def _logs_and_metrics_policy(stack: Stack, kind: _JobKind) -> iam.PolicyDocument:
    group = stack.format_arn(
        service="logs",
        resource="log-group",
        resource_name=kind.logs,
        arn_format=ArnFormat.COLON_RESOURCE_NAME,
    )
    document = policy({group: LOG_ACTIONS, f"{group}:log-stream:*": LOG_ACTIONS})
    document.add_statements(
        iam.PolicyStatement(
            actions=["cloudwatch:PutMetricData"],
            resources=["*"],
            conditions={"StringEquals": {"cloudwatch:namespace": kind.logs}},
        )
    )
    return document
