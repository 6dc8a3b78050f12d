"""What rules start pipelines as."""

from collections.abc import Sequence

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.access.statements import acting_for, policy


class TriggerRole(Construct):
    """Starts these pipelines, for these rules, and does nothing else."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        rule_names: Sequence[str],
        pipeline_arns: Sequence[str],
    ) -> None:
        super().__init__(scope, construct_id)
        self.role = iam.Role(
            self,
            "Role",
            description="Starts training pipelines when a rule says so",
            assumed_by=acting_for(
                "events.amazonaws.com", *(rule_arn(self, name) for name in rule_names)
            ),
            inline_policies={
                "start": policy(
                    {arn: ["sagemaker:StartPipelineExecution"] for arn in pipeline_arns}
                )
            },
        )


def rule_arn(scope: Construct, name: str) -> str:
    """The ARN of a rule by its name, since the rule itself refers to the role."""
    return Stack.of(scope).format_arn(service="events", resource="rule", resource_name=name)
