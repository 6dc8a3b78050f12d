"""Metrics of SageMaker, by name. Source: docs/facts.md 8."""

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

_PIPELINES = "AWS/Sagemaker/ModelBuildingPipeline"
_EVENTS = "AWS/Events"
_JOBS = "/aws/sagemaker/TrainingJobs"
PERIOD = Duration.minutes(5)


def of_pipeline(pipeline: str, name: str, *, statistic: str = "Sum") -> cloudwatch.Metric:
    """`ExecutionFailed`, for instance, of one pipeline."""
    return cloudwatch.Metric(
        namespace=_PIPELINES,
        metric_name=name,
        dimensions_map={"PipelineName": pipeline},
        statistic=statistic,
        period=PERIOD,
        label=f"{pipeline} {name.removeprefix('Execution').lower()}",
    )


def of_step(pipeline: str, step: str, name: str, *, statistic: str) -> cloudwatch.Metric:
    """`StepDuration`, for instance, of one step of one pipeline."""
    return cloudwatch.Metric(
        namespace=_PIPELINES,
        metric_name=name,
        dimensions_map={"PipelineName": pipeline, "StepName": step},
        statistic=statistic,
        period=PERIOD,
        label=f"{pipeline} {step}",
    )


def of_rule(rule: str, name: str) -> cloudwatch.Metric:
    """`FailedInvocations`, for instance, of one rule of the account's default event bus."""
    return cloudwatch.Metric(
        namespace=_EVENTS,
        metric_name=name,
        dimensions_map={"RuleName": rule},
        statistic="Sum",
        period=PERIOD,
    )


def of_training_jobs(name: str) -> cloudwatch.MathExpression:
    """A number of our metric lines, of every training job that a pipeline started."""
    return _search("TrainingJobName", name)


def of_training_hosts(name: str) -> cloudwatch.MathExpression:
    """`GPUUtilization`, for instance, of every host of such a job."""
    return _search("Host", name)


def _search(dimension: str, name: str) -> cloudwatch.MathExpression:
    # Jobs and hosts are named at run time: only a search finds them. In quotes is what is to be
    # found whole; `pipelines` is the first word of a longer name, so it has none.
    terms = f'{{"{_JOBS}",{dimension}}} MetricName="{name}" {dimension}=pipelines'
    return cloudwatch.MathExpression(
        expression=f"SEARCH('{terms}', 'Average', 60)",
        using_metrics={},
        label="",
        period=Duration.minutes(1),
    )
