"""Retry policies of steps."""

from collections.abc import Iterator, Mapping
from typing import Final

from infra.pipeline.validation.document import Definition, Step, as_list
from infra.pipeline.validation.problem import Problem
from infra.pipeline.validation.structure import (
    RETRIED_TYPES,
    STEP_TYPES,
    missing_keys,
    objects_in_list,
    unknown_keys,
    wrong_type,
)
from infra.pipeline.validation.wording import allowed, rename_fix, shown

EXCEPTIONS: Final = (
    "Step.SERVICE_FAULT",
    "Step.THROTTLING",
    "SageMaker.JOB_INTERNAL_ERROR",
    "SageMaker.CAPACITY_ERROR",
    "SageMaker.RESOURCE_LIMIT",
)
LIMITS: Final[Mapping[str, tuple[int, int]]] = {
    "IntervalSeconds": (0, 43_200),
    "MaxAttempts": (1, 20),
    "ExpireAfterMin": (1, 14_400),
}
"""Least and most of each integer. Source: the developer guide's retry policies."""
END_KEYS: Final = ("MaxAttempts", "ExpireAfterMin")
POLICY_KEYS: Final = ("ExceptionType", "BackoffRate", "IntervalSeconds", *END_KEYS)


def check_retry_policies(definition: Definition) -> Iterator[Problem]:
    """Judge the retry policies of every step."""
    for step in definition.steps:
        if "RetryPolicies" in step.raw:
            yield from _step(step)


def _step(step: Step) -> Iterator[Problem]:
    path = f"{step.path}.RetryPolicies"
    if step.kind in STEP_TYPES and step.kind not in RETRIED_TYPES:
        yield Problem(
            path=path,
            rule="retry-policy-not-supported",
            wrong=f"a {step.kind} step has no retry policies; {allowed(RETRIED_TYPES)}",
            fix="Remove RetryPolicies",
        )
        return
    yield from objects_in_list(step.raw, "RetryPolicies", step.path)
    for index, policy in enumerate(as_list(step.raw["RetryPolicies"])):
        if isinstance(policy, dict):
            yield from _policy(policy, f"{path}[{index}]")


def _policy(policy: Mapping[str, object], path: str) -> Iterator[Problem]:
    yield from unknown_keys(policy, POLICY_KEYS, path)
    yield from missing_keys(policy, ("ExceptionType",), path)
    if "ExceptionType" in policy:
        yield from _exceptions(policy["ExceptionType"], f"{path}.ExceptionType")
    given = [key for key in END_KEYS if key in policy]
    if len(given) != 1:
        yield Problem(
            path=path,
            rule="retry-limit",
            wrong=f"{' and '.join(given) or 'neither'} given; allowed: exactly one of "
            f"{' and '.join(END_KEYS)}",
            fix=f"Keep {END_KEYS[0]} or {END_KEYS[1]}",
        )
    for key, (least, most) in LIMITS.items():
        if key in policy:
            yield from _integer(policy[key], least, most, f"{path}.{key}")
    rate = policy.get("BackoffRate", 1.0)
    if isinstance(rate, bool) or not isinstance(rate, int | float) or rate < 0:
        yield wrong_type(rate, "a number of 0 or more", f"{path}.BackoffRate")


def _exceptions(value: object, path: str) -> Iterator[Problem]:
    if not isinstance(value, list) or not value:
        yield wrong_type(value, "a list of one or more exception types", path)
    for index, item in enumerate(as_list(value)):
        if item not in EXCEPTIONS:
            yield Problem(
                path=f"{path}[{index}]",
                rule="unknown-exception-type",
                wrong=f"{shown(item)}; {allowed(EXCEPTIONS)}",
                fix=rename_fix(str(item), EXCEPTIONS, "Use one of these"),
            )


def _integer(value: object, least: int, most: int, path: str) -> Iterator[Problem]:
    if isinstance(value, bool) or not isinstance(value, int):
        yield wrong_type(value, f"an integer from {least} to {most:,}", path)
    elif not least <= value <= most:
        yield Problem(
            path=path,
            rule="retry-range",
            wrong=f"{value}; allowed: {least} to {most:,}",
            fix="Give a value in range",
        )
