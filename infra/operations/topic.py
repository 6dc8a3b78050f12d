"""Where failures are told: one encrypted topic for each environment."""

from collections.abc import Sequence

from aws_cdk import ArnFormat, Aws, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

_ALARMS = "cloudwatch.amazonaws.com"
_BUDGETS = "budgets.amazonaws.com"
_RULES = "events.amazonaws.com"


class FailureTopic(Construct):
    """Alarms and the budget of this environment publish here, and EventBridge does.

    EventBridge sends no source with what it publishes to a topic: a condition on it would refuse
    every message, silently, in the topic's policy as in the key's. Source: docs/facts.md 8.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        prefix: str,
        emails: Sequence[str],
        with_budget: bool,
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
        own_account: dict[str, object] = {"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}}
        own_alarms = {**own_account, "ArnLike": {"aws:SourceArn": _alarms(self, prefix)}}
        self._admit(key, _ALARMS, publishing=own_alarms, encrypting=own_account)
        self._admit(key, _RULES, publishing=None, encrypting=None)
        if with_budget:
            # Not where there are none: a key policy must name services that exist there.
            self._admit(key, _BUDGETS, publishing=own_account, encrypting=own_account)
        for address in emails:
            self.topic.add_subscription(subscriptions.EmailSubscription(address))

    def _admit(
        self,
        key: kms.Key,
        service: str,
        *,
        publishing: dict[str, object] | None,
        encrypting: dict[str, object] | None,
    ) -> None:
        publisher = iam.ServicePrincipal(service)
        self.topic.add_to_resource_policy(
            iam.PolicyStatement(
                actions=["sns:Publish"],
                resources=[self.topic.topic_arn],
                principals=[publisher],
                conditions=publishing,
            )
        )
        # A publisher to an encrypted topic needs its key.
        key.add_to_resource_policy(
            iam.PolicyStatement(
                actions=["kms:Decrypt", "kms:GenerateDataKey"],
                resources=["*"],
                principals=[publisher],
                conditions=encrypting,
            )
        )


def _alarms(scope: Construct, prefix: str) -> str:
    """Those whose names start with the environment's."""
    return Stack.of(scope).format_arn(
        service="cloudwatch",
        resource="alarm",
        resource_name=f"{prefix}-*",
        arn_format=ArnFormat.COLON_RESOURCE_NAME,
    )
