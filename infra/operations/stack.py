"""The operations stack: triggers, messages, alarms, dashboard, budget."""

from aws_cdk import CfnOutput
from aws_cdk import aws_cloudwatch_actions as cloudwatch_actions
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sns as sns
from constructs import Construct

from infra.access.statements import sagemaker_arn
from infra.operations.alarms import Alarms
from infra.operations.budget import add_budget
from infra.operations.dashboard import add_dashboard
from infra.operations.failures import FailureMessages
from infra.operations.topic import FailureTopic
from infra.operations.triggers import Startable, Triggers
from infra.pipeline.deployment import data_uri, pipeline_name
from infra.settings import Settings
from infra.stack import EnvironmentStack


class OperationsStack(EnvironmentStack):
    """Knows the pipelines by their names."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        data_bucket_name: str,
        preflight_log: logs.ILogGroup,
    ) -> None:
        super().__init__(
            scope,
            construct_id,
            settings=settings,
            description="triggers, messages, alarms, dashboard, budget",
        )
        prefix = settings.prefix
        names: dict[str, str] = {one: pipeline_name(prefix, one) for one in settings.frameworks}
        arns: dict[str, str] = {
            one: sagemaker_arn(self, f"pipeline/{name}") for one, name in names.items()
        }
        monthly_usd = settings.budget.monthly_usd if settings.target.has_budgets else None
        topic = self._topic(settings, with_budget=monthly_usd is not None)
        messages = FailureMessages(
            self,
            "Messages",
            prefix=prefix,
            pipeline_arns=list(arns.values()),
            runbook=settings.notifications.where_to_read,
            topic_arn=topic.topic_arn,
        )
        alarms = Alarms(
            self,
            "Alarms",
            prefix=prefix,
            runbook=settings.notifications.where_to_read,
            action=cloudwatch_actions.SnsAction(topic),
        )
        alarms.on_failed_executions(names)
        alarms.on_refusals(preflight_log)
        alarms.on_untold(messages.rule_names)
        if settings.triggers.on_dataset or settings.triggers.schedule:
            what = Startable(prefix=prefix, pipeline_arns=arns, data_uri=data_uri(data_bucket_name))
            triggers = Triggers(self, "Triggers", what=what, settings=settings.triggers)
            alarms.on_lost_starts(triggers.lost_starts)
        add_dashboard(self, "Dashboard", prefix=prefix, pipelines=list(names.values()))
        if monthly_usd is not None:
            add_budget(
                self, "Budget", prefix=prefix, monthly_usd=monthly_usd, topic_arn=topic.topic_arn
            )
        CfnOutput(
            self,
            "FailureTopicArn",
            value=topic.topic_arn,
            description="Subscribe to it: failed executions, alarms, the budget",
        )

    def _topic(self, settings: Settings, *, with_budget: bool) -> sns.Topic:
        return FailureTopic(
            self,
            "Failures",
            prefix=settings.prefix,
            emails=settings.notifications.emails,
            with_budget=with_budget,
        ).topic
