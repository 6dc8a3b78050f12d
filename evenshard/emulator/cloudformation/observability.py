"""Alarms, metric filters, subscriptions and budgets."""

from collections.abc import Mapping
from typing import Any, ClassVar

from moto.budgets.models import BudgetsBackend, budgets_backends
from moto.cloudformation.exceptions import ValidationError
from moto.cloudwatch.models import CloudWatchBackend, cloudwatch_backends
from moto.core.common_models import CloudFormationModel
from moto.logs.models import LogsBackend, logs_backends
from moto.sns.models import SNSBackend, sns_backends
from moto.utilities.utils import get_partition

from evenshard.emulator.cloudformation.resource import Deployed


class AlarmResource(Deployed, CloudFormationModel):
    """A CloudWatch alarm on one metric."""

    TYPE: ClassVar[str] = "AWS::CloudWatch::Alarm"
    PROPERTIES: ClassVar[frozenset[str]] = frozenset(
        {
            "AlarmActions",
            "AlarmDescription",
            "AlarmName",
            "ComparisonOperator",
            "Dimensions",
            "EvaluationPeriods",
            "MetricName",
            "Metrics",
            "Namespace",
            "Period",
            "Statistic",
            "Threshold",
            "TreatMissingData",
        }
    )
    NAME_PROPERTY: ClassVar[str] = "AlarmName"
    ATTRIBUTES: ClassVar[frozenset[str]] = frozenset({"Arn"})

    Arn: str = ""

    def create(self) -> None:
        """Put the alarm."""
        given = self.properties
        metric = _metric(given)
        alarm = self._backend().put_metric_alarm(
            name=self.name,
            namespace=metric["Namespace"],
            metric_name=metric["MetricName"],
            comparison_operator=given["ComparisonOperator"],
            evaluation_periods=int(given["EvaluationPeriods"]),
            period=int(metric["Period"]),
            threshold=float(given["Threshold"]),
            statistic=metric["Statistic"],
            description=given.get("AlarmDescription", ""),
            dimensions=metric.get("Dimensions", []),
            alarm_actions=given.get("AlarmActions", []),
            treat_missing_data=given.get("TreatMissingData"),
        )
        self.Arn = alarm.alarm_arn

    def remove(self) -> None:
        """Delete the alarm."""
        self._backend().delete_alarms([self.name])

    def _backend(self) -> CloudWatchBackend:
        return cloudwatch_backends[self.place.account][self.place.region]


def _metric(alarm: Mapping[str, Any]) -> Mapping[str, Any]:
    """The one metric of an alarm, in either of the two forms that a template may give it.

    Raises:
        ValidationError: it has several, which no stack of ours needs.
    """
    if "Metrics" not in alarm:
        return alarm
    if len(alarm["Metrics"]) > 1 or "MetricStat" not in alarm["Metrics"][0]:
        problem = "The emulator has alarms on one metric only, without expressions."
        raise ValidationError(message=problem)
    measured = alarm["Metrics"][0]["MetricStat"]
    return {**measured["Metric"], "Period": measured["Period"], "Statistic": measured["Stat"]}


class MetricFilterResource(Deployed, CloudFormationModel):
    """A metric that CloudWatch counts in a log group."""

    TYPE: ClassVar[str] = "AWS::Logs::MetricFilter"
    PROPERTIES: ClassVar[frozenset[str]] = frozenset(
        {"FilterName", "FilterPattern", "LogGroupName", "MetricTransformations"}
    )
    NAME_PROPERTY: ClassVar[str] = "FilterName"

    def create(self) -> None:
        """Put the filter."""
        transformations = [
            {key[0].lower() + key[1:]: value for key, value in one.items()}
            for one in self.properties["MetricTransformations"]
        ]
        self._backend().put_metric_filter(
            self.name,
            self.properties["FilterPattern"],
            self.properties["LogGroupName"],
            transformations,  # type: ignore[arg-type] # moto keeps a list, and says text
        )

    def remove(self) -> None:
        """Delete the filter."""
        self._backend().delete_metric_filter(self.name, self.properties["LogGroupName"])

    def _backend(self) -> LogsBackend:
        return logs_backends[self.place.account][self.place.region]


class SubscriptionResource(Deployed, CloudFormationModel):
    """Who hears of a topic's messages."""

    TYPE: ClassVar[str] = "AWS::SNS::Subscription"
    PROPERTIES: ClassVar[frozenset[str]] = frozenset({"Endpoint", "Protocol", "TopicArn"})

    def create(self) -> None:
        """Subscribe."""
        subscription = self._backend().subscribe(
            self.properties["TopicArn"], self.properties["Endpoint"], self.properties["Protocol"]
        )
        self.physical_resource_id = subscription.arn

    def remove(self) -> None:
        """Unsubscribe."""
        self._backend().unsubscribe(self.physical_resource_id)

    def _backend(self) -> SNSBackend:
        return sns_backends[self.place.account][self.place.region]


class BudgetResource(Deployed, CloudFormationModel):
    """A cost budget with its notifications."""

    TYPE: ClassVar[str] = "AWS::Budgets::Budget"
    PROPERTIES: ClassVar[frozenset[str]] = frozenset({"Budget", "NotificationsWithSubscribers"})

    def create(self) -> None:
        """Make the budget."""
        budget: dict[str, Any] = {"BudgetName": self.name, **self.properties["Budget"]}
        self.physical_resource_id = budget["BudgetName"]
        notifications = self.properties.get("NotificationsWithSubscribers", [])
        self._backend().create_budget(self.place.account, budget, notifications)

    def remove(self) -> None:
        """Delete the budget."""
        self._backend().delete_budget(self.place.account, self.physical_resource_id)

    def _backend(self) -> BudgetsBackend:
        return budgets_backends[self.place.account][get_partition(self.place.region)]
