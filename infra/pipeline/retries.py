"""When a step is tried again: faults of the service, never of the job.

A Lambda step takes no retry policies. Source: docs/facts.md 8.
"""

from infra.pipeline.expressions import Json


def call_retries() -> list[Json]:
    """For every step that calls SageMaker: the service was busy or failed."""
    return [
        {
            "ExceptionType": ["Step.SERVICE_FAULT", "Step.THROTTLING"],
            "IntervalSeconds": 10,
            "BackoffRate": 2,
            "MaxAttempts": 5,
        }
    ]


def job_retries(*, sold_out_min: int) -> list[Json]:
    """For steps that start instances: these may also be sold out for a while.

    A training job that is started again goes on from its execution's checkpoints.

    Args:
        sold_out_min: how long to try in that case, 1..14400 minutes.
    """
    return [
        *call_retries(),
        {
            "ExceptionType": ["SageMaker.JOB_INTERNAL_ERROR"],
            "IntervalSeconds": 60,
            "BackoffRate": 1,
            "MaxAttempts": 2,
        },
        {
            # Not RESOURCE_LIMIT: a quota of 0 should fail now, not after hours.
            "ExceptionType": ["SageMaker.CAPACITY_ERROR"],
            "IntervalSeconds": 300,
            "BackoffRate": 1.5,
            "ExpireAfterMin": sold_out_min,
        },
    ]
