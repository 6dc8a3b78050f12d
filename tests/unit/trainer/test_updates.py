"""Which steps make an update, and how many records it has."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.records import EpochPlan
from training.trainer.updates import ends_update, records_of_update

RANKS = 512


@given(
    counts=st.lists(st.integers(0, 40), min_size=1, max_size=6),
    batch_size=st.integers(1, 7),
    together=st.integers(1, 9),
    uneven=st.sampled_from(["weight", "drop"]),
)
def test_an_update_has_the_records_of_its_steps(
    counts: list[int], batch_size: int, together: int, uneven: str
) -> None:
    plan = EpochPlan(counts=tuple(counts), batch_size=batch_size, uneven=uneven)
    used = []
    for step in range(plan.steps):
        first = step - step % together
        steps = range(first, min(first + together, plan.steps))
        expected = sum(
            plan.records_of_rank_in_step(rank, one) for one in steps for rank in range(len(counts))
        )
        assert records_of_update(plan, step, together) == expected
        if ends_update(plan, step, together):
            used.append(expected)
    assert sum(used) == plan.records


@pytest.mark.timeout(60)
@pytest.mark.parametrize("together", [1, 2**20])
def test_every_step_may_ask_for_them_however_many_steps_and_ranks(together: int) -> None:
    plan = EpochPlan(counts=tuple(range(10**8, 10**8 + RANKS)), batch_size=32)
    start_s = time.process_time()
    asked = [records_of_update(plan, step, together) for step in range(1000)]
    # 2 ms each; adding up all steps and ranks takes 20 ms and hours.
    assert time.process_time() - start_s < 2
    assert set(asked) == {32 * RANKS * together}
