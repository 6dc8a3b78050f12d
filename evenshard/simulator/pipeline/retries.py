"""Retry policies of steps: which failures are tried again, and when. Source: docs/facts.md 6."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

SERVICE_FAULT: Final = "Step.SERVICE_FAULT"
THROTTLING: Final = "Step.THROTTLING"
JOB_INTERNAL_ERROR: Final = "SageMaker.JOB_INTERNAL_ERROR"
CAPACITY_ERROR: Final = "SageMaker.CAPACITY_ERROR"
RESOURCE_LIMIT: Final = "SageMaker.RESOURCE_LIMIT"
EXCEPTION_TYPES: Final = (
    SERVICE_FAULT,
    THROTTLING,
    JOB_INTERNAL_ERROR,
    CAPACITY_ERROR,
    RESOURCE_LIMIT,
)

TIME_SCALE: Final = 0.01
"""A minute of waiting on SageMaker takes 0.6 s here."""
_DEFAULT_INTERVAL_S: Final = 1
_DEFAULT_BACKOFF: Final = 2.0


class Retries:
    """How often one step has been tried under each of its policies."""

    def __init__(self, policies: Sequence[Mapping[str, Any]]) -> None:
        """Take the step's RetryPolicies, checked."""
        self._policies = policies
        self._used = [0] * len(policies)

    def delay_s(self, exception_type: str | None, elapsed_s: float) -> float | None:
        """How long to wait before the step is tried again, in SageMaker's seconds.

        The first policy that names the exception type decides, and counts the try.

        Args:
            exception_type: one of EXCEPTION_TYPES; None: no policy knows such a failure.
            elapsed_s: since the step began, in SageMaker's seconds; ExpireAfterMin counts them.

        Returns:
            None: it is not tried again.
        """
        for index, policy in enumerate(self._policies):
            if exception_type not in policy["ExceptionType"]:
                continue
            backoff = float(policy.get("BackoffRate", _DEFAULT_BACKOFF))
            first_s = policy.get("IntervalSeconds", _DEFAULT_INTERVAL_S)
            delay_s: float = first_s * backoff ** self._used[index]
            self._used[index] += 1
            spent = self._used[index] > policy.get("MaxAttempts", self._used[index])
            expire_s = policy.get("ExpireAfterMin", float("inf")) * 60
            return None if spent or elapsed_s + delay_s > expire_s else delay_s
        return None
