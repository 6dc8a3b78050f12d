"""Alarms: each means that a person has something to do. docs/operations.md says what."""

from collections.abc import Mapping, Sequence

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.operations.metrics import of_pipeline, of_rule
from training.shards.preflight import REFUSED


class Alarms(Construct):
    """They stay quiet while nothing runs: missing data is good."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        prefix: str,
        runbook: str,
        action: cloudwatch.IAlarmAction,
    ) -> None:
        super().__init__(scope, construct_id)
        self._prefix = prefix
        self._runbook = runbook
        self._action = action

    def on_failed_executions(self, pipelines: Mapping[str, str]) -> None:
        """One for each pipeline.

        Args:
            pipelines: framework -> the pipeline's name.
        """
        for framework, name in pipelines.items():
            self._alarm(
                f"{framework}-execution-failed",
                of_pipeline(name, "ExecutionFailed"),
                f"An execution of {name} failed",
            )

    def on_refusals(self, log_group: logs.ILogGroup) -> None:
        """Preflight said no; the log line says why."""
        log_filter = logs.MetricFilter(
            self,
            "Refusals",
            log_group=log_group,
            filter_pattern=logs.FilterPattern.literal(f'"{REFUSED}"'),
            metric_namespace="Evenshard",
            metric_name=f"{self._prefix}-preflight-refused",
            metric_value="1",
        )
        metric = log_filter.metric(statistic="Sum", period=Duration.minutes(5))
        self._alarm("preflight-refused", metric, "Preflight refused an execution; its log says why")

    def on_lost_starts(self, queue: sqs.IQueue) -> None:
        """EventBridge could not start a pipeline and gave up."""
        metric = queue.metric_approximate_number_of_messages_visible(
            statistic="Maximum", period=Duration.minutes(5)
        )
        self._alarm(
            "start-lost", metric, "A trigger could not start a pipeline; the queue holds its event"
        )

    def on_untold(self, rule_names: Sequence[str]) -> None:
        """EventBridge could not publish a message about a failure; an alarm goes another way."""
        for name in rule_names:
            self._alarm(
                f"{name.removeprefix(f'{self._prefix}-')}-untold",
                of_rule(name, "FailedInvocations"),
                f"A message of rule {name} could not be published",
            )

    def _alarm(self, name: str, metric: cloudwatch.IMetric, description: str) -> None:
        cloudwatch.Alarm(
            self,
            name,
            alarm_name=f"{self._prefix}-{name}",
            alarm_description=f"{description}. What to do: {self._runbook}, 'Alarms'.",
            metric=metric,
            threshold=1,
            evaluation_periods=1,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        ).add_alarm_action(self._action)
