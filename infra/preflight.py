"""The Preflight function: its code, its log and its role."""

from aws_cdk import Duration, IgnoreMode
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.access.data import DATASETS
from infra.access.statements import acting_for
from infra.logs import own_log_group
from infra.settings import REPOSITORY_ROOT, PreflightSettings

TIMEOUT_S = 240
"""Pipelines wait 10 minutes for a function, and not always that long. Source: docs/facts.md 8."""


class PreflightFunction(Construct):
    """Lists the data of an execution and refuses what cannot train."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        bucket: s3.IBucket,
        settings: PreflightSettings,
    ) -> None:
        super().__init__(scope, construct_id)
        self.log_group = own_log_group(self, "Log", days=settings.log_days)
        self.function = lambda_.Function(
            self,
            "Function",
            description="Refuses data and numbers that cannot train, before any GPU starts",
            runtime=lambda_.Runtime.PYTHON_3_14,
            handler="training.shards.preflight.handler",
            code=_code(),
            role=_role(self, bucket, self.log_group),
            log_group=self.log_group,
            memory_size=512,
            timeout=Duration.seconds(TIMEOUT_S),
        )


def _code() -> lambda_.Code:
    # An allow-list from the repository's root keeps the package path, and a hash that moves with
    # this code only.
    return lambda_.Code.from_asset(
        str(REPOSITORY_ROOT),
        exclude=[
            "/*",
            "!/training",
            "/training/*",
            "!/training/__init__.py",
            "!/training/contract",
            "!/training/shards",
            "**/__pycache__",
        ],
        ignore_mode=IgnoreMode.GIT,
    )


def _role(scope: Construct, bucket: s3.IBucket, log_group: logs.ILogGroup) -> iam.Role:
    return iam.Role(
        scope,
        "Role",
        description="Lists the data sets and writes the function's own log",
        assumed_by=acting_for("lambda.amazonaws.com"),
        inline_policies={
            "preflight": iam.PolicyDocument(
                statements=[
                    iam.PolicyStatement(
                        actions=["s3:ListBucket"],
                        resources=[bucket.bucket_arn],
                        conditions={"StringLike": {"s3:prefix": DATASETS}},
                    ),
                    iam.PolicyStatement(
                        actions=["logs:CreateLogStream", "logs:PutLogEvents"],
                        resources=[log_group.log_group_arn],
                    ),
                ]
            )
        },
    )
