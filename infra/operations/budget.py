"""A monthly limit on what resources with the environment's tag cost."""

from aws_cdk import Aws, CfnCondition, Fn
from aws_cdk import aws_budgets as budgets
from constructs import Construct

from infra.stack import ENVIRONMENT_TAG

_FORECAST_PERCENT, _ACTUAL_PERCENT = 80, 100


def add_budget(
    scope: Construct, construct_id: str, *, prefix: str, monthly_usd: int, topic_arn: str
) -> None:
    """Tell the topic before and when the limit is passed. It stops nothing."""
    # China and GovCloud have no such budgets.
    in_aws = CfnCondition(
        scope, "InPartitionAws", expression=Fn.condition_equals(Aws.PARTITION, "aws")
    )
    budget = budgets.CfnBudget(
        scope,
        construct_id,
        budget=budgets.CfnBudget.BudgetDataProperty(
            budget_name=f"{prefix}-monthly",
            budget_type="COST",
            time_unit="MONTHLY",
            budget_limit=budgets.CfnBudget.SpendProperty(amount=monthly_usd, unit="USD"),
            cost_filters={"TagKeyValue": [f"user:{ENVIRONMENT_TAG}${prefix}"]},
        ),
        notifications_with_subscribers=[
            _notification("FORECASTED", _FORECAST_PERCENT, topic_arn),
            _notification("ACTUAL", _ACTUAL_PERCENT, topic_arn),
        ],
    )
    budget.cfn_options.condition = in_aws


def _notification(
    kind: str, percent: int, topic_arn: str
) -> budgets.CfnBudget.NotificationWithSubscribersProperty:
    return budgets.CfnBudget.NotificationWithSubscribersProperty(
        notification=budgets.CfnBudget.NotificationProperty(
            comparison_operator="GREATER_THAN",
            notification_type=kind,
            threshold=percent,
            threshold_type="PERCENTAGE",
        ),
        subscribers=[
            budgets.CfnBudget.SubscriberProperty(address=topic_arn, subscription_type="SNS")
        ],
    )
