"""Where failures are told: one encrypted topic for each environment."""

from collections.abc import Sequence

from aws_cdk import ArnFormat, Aws, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

_BUDGETS = "budgets.amazonaws.com"
_PUBLISHERS = {"cloudwatch.amazonaws.com": "alarm", "events.amazonaws.com": "rule"}
"""Service -> whose name must start with the environment's."""


class FailureTopic(Construct):
    """Alarms, rules and the budget of this environment publish here; nobody else does."""

    def __init__(
        self, scope: Construct, construct_id: str, *, prefix: str, emails: Sequence[str]
    ) -> None:
        super().__init__(scope, construct_id)
        key = kms.Key(
            self,
            "Key",
            description=f"Messages of {prefix}",
            enable_key_rotation=True,
            # It protects messages on their way only: nothing is lost with it.
            removal_policy=RemovalPolicy.DESTROY,
        )
        self.topic = sns.Topic(
            self,
            "Topic",
            topic_name=f"{prefix}-failures",
            display_name=f"{prefix} failures",
            master_key=key,
            enforce_ssl=True,
        )
        for service, resource in _PUBLISHERS.items():
            self._admit(key, service, _sources(Stack.of(self), service, resource, prefix))
        self._admit(key, _BUDGETS, None)
        for address in emails:
            self.topic.add_subscription(subscriptions.EmailSubscription(address))

    def _admit(self, key: kms.Key, service: str, sources: str | None) -> None:
        conditions: dict[str, object] = {"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}}
        if sources:
            conditions["ArnLike"] = {"aws:SourceArn": sources}
        publisher = iam.ServicePrincipal(service)
        self.topic.add_to_resource_policy(
            iam.PolicyStatement(
                actions=["sns:Publish"],
                resources=[self.topic.topic_arn],
                principals=[publisher],
                conditions=conditions,
            )
        )
        # A publisher to an encrypted topic needs its key.
        key.add_to_resource_policy(
            iam.PolicyStatement(
                actions=["kms:Decrypt", "kms:GenerateDataKey"],
                resources=["*"],
                principals=[publisher],
                conditions={"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}},
            )
        )


def _sources(stack: Stack, service: str, resource: str, prefix: str) -> str:
    return stack.format_arn(
        service=service.partition(".")[0],
        resource=resource,
        resource_name=f"{prefix}-*",
        arn_format=(
            ArnFormat.COLON_RESOURCE_NAME if resource == "alarm" else ArnFormat.SLASH_RESOURCE_NAME
        ),
    )
