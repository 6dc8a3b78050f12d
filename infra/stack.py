"""What every stack of an environment has in common."""

from aws_cdk import Environment, Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.settings import Settings

ENVIRONMENT_TAG = "evenshard:environment"
"""Costs are told apart by it, once it is activated as a cost allocation tag."""


def environment_tags(settings: Settings) -> dict[str, str]:
    """On everything that is deployed, and on every job."""
    return {ENVIRONMENT_TAG: settings.prefix, **settings.tags}


class EnvironmentStack(Stack):
    """Named after the environment, in its account and region where the settings give one."""

    def __init__(
        self, scope: Construct, construct_id: str, *, settings: Settings, description: str
    ) -> None:
        super().__init__(
            scope,
            construct_id,
            stack_name=f"{settings.prefix}-{construct_id.lower()}",
            description=f"Evenshard: {description}",
            tags=environment_tags(settings),
            env=Environment(account=settings.target.account, region=settings.target.region),
        )
        if settings.permissions_boundary is not None:
            policy = iam.ManagedPolicy.from_managed_policy_name(
                self, "PermissionsBoundary", settings.permissions_boundary
            )
            iam.PermissionsBoundary.of(self).apply(policy)
