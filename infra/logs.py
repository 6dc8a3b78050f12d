"""Log groups of our own; those of SageMaker's jobs are made and kept by SageMaker."""

from aws_cdk import RemovalPolicy
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.section import LogDays

_RETENTION = {
    7: logs.RetentionDays.ONE_WEEK,
    30: logs.RetentionDays.ONE_MONTH,
    90: logs.RetentionDays.THREE_MONTHS,
    180: logs.RetentionDays.SIX_MONTHS,
    365: logs.RetentionDays.ONE_YEAR,
}


def own_log_group(scope: Construct, construct_id: str, *, days: LogDays) -> logs.LogGroup:
    """A log group that forgets after `days`, and goes with its stack."""
    return logs.LogGroup(
        scope,
        construct_id,
        retention=_RETENTION[days],
        removal_policy=RemovalPolicy.DESTROY,
    )
