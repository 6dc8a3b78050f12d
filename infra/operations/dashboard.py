"""One dashboard for each environment."""

from collections.abc import Sequence

from aws_cdk import Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from infra.operations.metrics import of_pipeline, of_step, of_training_hosts, of_training_jobs
from infra.pipeline.steps import evaluate, train
from training.contract.metrics import (
    RECORDS_PER_SECOND,
    TRAIN_LOSS,
    VALIDATION_ACCURACY,
    VALIDATION_LOSS,
    VALIDATION_R2,
)

_STATES = ("ExecutionStarted", "ExecutionSucceeded", "ExecutionFailed", "ExecutionStopped")
_STEPS = (train.NAME, evaluate.NAME)
_HALF, _WHOLE = 12, 24
"""Widths; a dashboard is 24 wide."""


def add_dashboard(
    scope: Construct, construct_id: str, *, prefix: str, pipelines: Sequence[str]
) -> None:
    """Executions and steps by their metrics, training by searches: jobs are named at run time."""
    cloudwatch.Dashboard(
        scope,
        construct_id,
        # Dashboards are the whole account's: without its region, one in another would take its
        # place.
        dashboard_name=f"{prefix}-{Stack.of(scope).region}",
        widgets=[
            [_executions(pipelines), _durations(pipelines)],
            [
                _search("Loss", [TRAIN_LOSS.name, VALIDATION_LOSS.name]),
                _search(
                    "Validation accuracy or R2", [VALIDATION_ACCURACY.name, VALIDATION_R2.name]
                ),
            ],
            [
                _search("Training records per second, all hosts", [RECORDS_PER_SECOND.name]),
                _hosts("GPU utilization, %", "GPUUtilization"),
            ],
            [
                _hosts("GPU memory, %", "GPUMemoryUtilization"),
                _hosts("Disk, %", "DiskUtilization"),
            ],
            [
                cloudwatch.TextWidget(
                    width=_WHOLE,
                    height=2,
                    markdown="Training metrics are those of every pipeline of this account and "
                    "region: SageMaker gives them no name that an environment could be told by.",
                )
            ],
        ],
    )


def _executions(pipelines: Sequence[str]) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(
        title="Executions",
        width=_HALF,
        left=[of_pipeline(name, state) for name in pipelines for state in _STATES],
    )


def _durations(pipelines: Sequence[str]) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(
        title="Duration of steps",
        width=_HALF,
        left=[
            of_step(name, step, "StepDuration", statistic="Maximum")
            for name in pipelines
            for step in _STEPS
        ],
    )


def _search(title: str, names: Sequence[str]) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(
        title=title, width=_HALF, left=[of_training_jobs(name) for name in names]
    )


def _hosts(title: str, name: str) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(title=title, width=_HALF, left=[of_training_hosts(name)])
