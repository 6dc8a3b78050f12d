"""What starts executions by itself: a published data set, or the clock."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.access.triggers import TriggerRole, rule_arn
from infra.checks.nag import acknowledge
from infra.operations.settings import TriggerSettings

EVENT_SOURCE = "evenshard"
EVENT_DETAIL_TYPE = "Dataset published"
EVENT_PARAMETERS = {
    "train_uri": "TrainDataUri",
    "validation_uri": "ValidationDataUri",
    "test_uri": "TestDataUri",
}
"""Key of the event's detail -> parameter of the pipeline."""

_MAX_AGE_S = 3_600
_MOST_ATTEMPTS = 20
_QUEUE_DAYS = 14


@dataclass(frozen=True, slots=True, kw_only=True)
class Startable:
    """What triggers may start."""

    prefix: str
    pipeline_arns: Mapping[str, str]
    """Framework -> ARN."""
    data_uri: str
    """Below it lie the data sets that an event may name."""


class Triggers(Construct):
    """Rules, the role they start pipelines with, and the queue of starts that failed."""

    def __init__(
        self, scope: Construct, construct_id: str, *, what: Startable, settings: TriggerSettings
    ) -> None:
        super().__init__(scope, construct_id)
        self._what = what
        names = {
            f"{what.prefix}-dataset-published": settings.on_dataset,
            f"{what.prefix}-schedule": settings.on_schedule,
        }
        used = {name: frameworks for name, frameworks in names.items() if frameworks}
        self.lost_starts = _queue(self, [rule_arn(self, name) for name in used])
        self._role_arn = TriggerRole(
            self,
            "Role",
            rule_names=list(used),
            pipeline_arns=[
                arn
                for framework, arn in what.pipeline_arns.items()
                if any(framework in frameworks for frameworks in used.values())
            ],
        ).role.role_arn
        if settings.on_dataset:
            self._on_dataset(settings.on_dataset)
        if settings.schedule:
            self._on_schedule(settings.schedule, settings.on_schedule)

    def _on_dataset(self, frameworks: Sequence[str]) -> None:
        parameters = [
            events.CfnRule.SageMakerPipelineParameterProperty(name=name, value=f"$.detail.{key}")
            for key, name in EVENT_PARAMETERS.items()
        ]
        events.CfnRule(
            self,
            "DatasetPublished",
            name=f"{self._what.prefix}-dataset-published",
            description="Trains on a data set as soon as it is published",
            event_pattern={
                "source": [EVENT_SOURCE],
                "detail-type": [EVENT_DETAIL_TYPE],
                # Other environments' data, and anybody else's, starts nothing here.
                "detail": {key: [{"prefix": self._what.data_uri}] for key in EVENT_PARAMETERS},
            },
            targets=[self._target(framework, parameters) for framework in frameworks],
        )

    def _on_schedule(self, expression: str, frameworks: Sequence[str]) -> None:
        events.CfnRule(
            self,
            "Schedule",
            name=f"{self._what.prefix}-schedule",
            description="Trains on the default data sets, by the clock",
            schedule_expression=expression,
            targets=[self._target(framework, []) for framework in frameworks],
        )

    def _target(
        self,
        framework: str,
        parameters: list[events.CfnRule.SageMakerPipelineParameterProperty],
    ) -> events.CfnRule.TargetProperty:
        return events.CfnRule.TargetProperty(
            id=framework,
            arn=self._what.pipeline_arns[framework],
            role_arn=self._role_arn,
            sage_maker_pipeline_parameters=(
                events.CfnRule.SageMakerPipelineParametersProperty(
                    pipeline_parameter_list=parameters
                )
                if parameters
                else None
            ),
            dead_letter_config=events.CfnRule.DeadLetterConfigProperty(
                arn=self.lost_starts.queue_arn
            ),
            retry_policy=events.CfnRule.RetryPolicyProperty(
                maximum_event_age_in_seconds=_MAX_AGE_S,
                maximum_retry_attempts=_MOST_ATTEMPTS,
            ),
        )


def _queue(scope: Construct, rule_arns: Sequence[str]) -> sqs.Queue:
    queue = sqs.Queue(
        scope,
        "LostStarts",
        encryption=sqs.QueueEncryption.SQS_MANAGED,
        enforce_ssl=True,
        retention_period=Duration.days(_QUEUE_DAYS),
    )
    queue.add_to_resource_policy(
        iam.PolicyStatement(
            actions=["sqs:SendMessage"],
            resources=[queue.queue_arn],
            principals=[iam.ServicePrincipal("events.amazonaws.com")],
            # The account is in the ARNs.
            conditions={"ArnLike": {"aws:SourceArn": list(rule_arns)}},
        )
    )
    acknowledge(queue, {"SQS3": "It is itself where undeliverable events of the rules go."})
    return queue
