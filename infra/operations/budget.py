"""A monthly limit on what resources with the environment's tag cost."""

from aws_cdk import Aws, CfnCondition, Fn, Stack
from aws_cdk import aws_budgets as budgets
from constructs import Construct

from infra.stack import ENVIRONMENT_TAG

_FORECAST_PERCENT, _ACTUAL_PERCENT = 80, 100


def add_budget(
    scope: Construct, construct_id: str, *, prefix: str, monthly_usd: int, topic_arn: str
) -> None:
    """Tell the topic before and when the limit is passed. It stops nothing."""
    # For templates without a region. It takes away the budget, not its type, which a region that
    # lacks it refuses: infra.target knows those.
    in_aws = CfnCondition(
        scope, "InPartitionAws", expression=Fn.condition_equals(Aws.PARTITION, "aws")
    )
    budget = budgets.CfnBudget(
        scope,
        construct_id,
        budget=budgets.CfnBudget.BudgetDataProperty(
            # The whole account's, as dashboards are: unique with its region only.
            budget_name=f"{prefix}-{Stack.of(scope).region}-monthly",
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
