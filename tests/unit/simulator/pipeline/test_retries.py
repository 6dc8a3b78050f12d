import pytest

from evenshard.simulator.pipeline.retries import EXCEPTION_TYPES, Retries

THROTTLED = {
    "ExceptionType": ["Step.SERVICE_FAULT", "Step.THROTTLING"],
    "IntervalSeconds": 10,
    "BackoffRate": 2,
    "MaxAttempts": 3,
}
SOLD_OUT = {
    "ExceptionType": ["SageMaker.CAPACITY_ERROR"],
    "IntervalSeconds": 300,
    "BackoffRate": 1.5,
    "ExpireAfterMin": 20,
}


def test_waits_longer_each_time_and_gives_up() -> None:
    retries = Retries([SOLD_OUT, THROTTLED])
    delays = [retries.delay_s("Step.THROTTLING", 0) for _ in range(4)]
    assert delays == [10, 20, 40, None]


def test_the_exceptions_of_one_policy_share_its_attempts() -> None:
    retries = Retries([THROTTLED])
    types = ["Step.THROTTLING", "Step.SERVICE_FAULT", "Step.THROTTLING", "Step.SERVICE_FAULT"]
    assert [retries.delay_s(each, 0) for each in types] == [10, 20, 40, None]


def test_an_expiring_policy_counts_time_and_not_attempts() -> None:
    retries = Retries([SOLD_OUT])
    assert retries.delay_s("SageMaker.CAPACITY_ERROR", 0) == 300
    assert retries.delay_s("SageMaker.CAPACITY_ERROR", 300) == 450
    # 675 s more would end after the 20th minute.
    assert retries.delay_s("SageMaker.CAPACITY_ERROR", 750) is None


def test_sagemakers_defaults_hold_where_a_policy_says_nothing() -> None:
    retries = Retries([{"ExceptionType": ["Step.THROTTLING"], "MaxAttempts": 2}])
    assert [retries.delay_s("Step.THROTTLING", 0) for _ in range(3)] == [1, 2, None]


@pytest.mark.parametrize("exception_type", [None, *EXCEPTION_TYPES])
def test_only_named_exceptions_are_tried_again(exception_type: str | None) -> None:
    named = exception_type in ("Step.SERVICE_FAULT", "Step.THROTTLING")
    assert (Retries([THROTTLED]).delay_s(exception_type, 0) is not None) == named
    assert Retries([]).delay_s(exception_type, 0) is None
