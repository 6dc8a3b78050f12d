import os
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from training.contract.breakpoints import (
    EVALUATION,
    START,
    STEP,
    Breakpoint,
    BreakpointPlan,
    Breakpoints,
)
from training.contract.errors import ContractError
from training.contract.layout import BREAKPOINTS_VARIABLE, TOLD_FILE_VARIABLE

WAIT_S = 60

AT_STEP = Breakpoint(id="a", rank=2, point=STEP, number=3)


def breakpoints_of(plan: BreakpointPlan, rank: int) -> Breakpoints:
    return Breakpoints.from_environment(rank=rank, environment={BREAKPOINTS_VARIABLE: plan.text()})


def wait_for(file: Path) -> None:
    deadline = time.monotonic() + WAIT_S
    while not file.exists():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.fixture
def answered(tmp_path: Path) -> Iterator[list[str]]:
    """Answers what is reached, and lists it."""
    seen: list[str] = []
    over = threading.Event()

    def answer() -> None:
        while not over.wait(0.005):
            for file in tmp_path.glob("*.reached"):
                if file.stem not in seen:
                    seen.append(file.stem)
                    file.with_suffix(".go").touch()

    thread = threading.Thread(target=answer)
    thread.start()
    yield seen
    over.set()
    thread.join()


def test_nothing_happens_without_the_variable(tmp_path: Path) -> None:
    breakpoints = Breakpoints.from_environment(rank=2, environment={})
    for number in range(1, 6):
        breakpoints.reach(STEP, number)
    assert list(tmp_path.iterdir()) == []


def test_a_rank_waits_at_its_moment_until_it_may_go_on(tmp_path: Path) -> None:
    breakpoints = breakpoints_of(BreakpointPlan(folder=tmp_path, breakpoints=[AT_STEP]), rank=2)
    done: list[int] = []

    def train() -> None:
        for number in range(1, 6):
            done.append(number)
            breakpoints.reach(STEP, number)

    rank = threading.Thread(target=train)
    rank.start()
    wait_for(AT_STEP.reached_file(tmp_path))
    time.sleep(0.1)
    assert done == [1, 2, 3]
    assert AT_STEP.reached_file(tmp_path).read_text() == str(os.getpid())
    AT_STEP.go_file(tmp_path).touch()
    rank.join(WAIT_S)
    assert done == [1, 2, 3, 4, 5]


def test_a_rank_of_a_host_that_is_told_to_stop_waits_until_its_launcher_has_heard_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "told"
    monkeypatch.setenv(TOLD_FILE_VARIABLE, str(told))
    moment = replace(AT_STEP, is_of_a_stop=True)
    breakpoints = breakpoints_of(BreakpointPlan(folder=tmp_path, breakpoints=[moment]), rank=2)
    rank = threading.Thread(target=breakpoints.reach, args=(STEP, 3))
    moment.go_file(tmp_path).touch()
    rank.start()
    wait_for(moment.reached_file(tmp_path))
    rank.join(0.1)
    assert rank.is_alive()
    told.touch()
    rank.join(WAIT_S)
    assert not rank.is_alive()


def test_without_a_launcher_the_signal_itself_is_all_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(TOLD_FILE_VARIABLE, raising=False)
    moment = replace(AT_STEP, is_of_a_stop=True)
    moment.go_file(tmp_path).touch()
    breakpoints_of(BreakpointPlan(folder=tmp_path, breakpoints=[moment]), rank=2).reach(STEP, 3)
    assert moment.reached_file(tmp_path).exists()


def test_other_ranks_points_and_numbers_pass(tmp_path: Path) -> None:
    plan = BreakpointPlan(folder=tmp_path, breakpoints=[AT_STEP])
    other = breakpoints_of(plan, rank=1)
    other.reach(STEP, 3)
    same = breakpoints_of(plan, rank=2)
    same.reach(START)
    same.reach(EVALUATION, 3)
    same.reach(STEP, 2)
    assert list(tmp_path.iterdir()) == []


def test_without_a_number_the_first_one_counts_and_only_it(
    tmp_path: Path, answered: list[str]
) -> None:
    first = Breakpoint(id="first", rank=0, point=EVALUATION)
    second = Breakpoint(id="second", rank=0, point=EVALUATION, number=4)
    plan = BreakpointPlan(folder=tmp_path, breakpoints=[first, second])
    breakpoints = breakpoints_of(plan, rank=0)
    order = []
    for epoch in (3, 4, 4):
        breakpoints.reach(EVALUATION, epoch)
        order.append(list(answered))
    assert order == [["first"], ["first", "second"], ["first", "second"]]


def test_a_slow_rank_takes_so_many_times_its_own_time(tmp_path: Path) -> None:
    own_s = iter([0.0, 0.05, 0.05, 0.10, 0.10])
    plan = BreakpointPlan(folder=tmp_path, slowdowns={1: 3.0})
    breakpoints = Breakpoints(plan, 1, own_time_s=lambda: next(own_s))
    began = time.monotonic()
    breakpoints.reach(STEP, 1)
    breakpoints.reach(STEP, 2)
    breakpoints.reach(EVALUATION, 0)
    # Two steps of 0.05 s of work each: 0.1 s more per step.
    assert time.monotonic() - began >= 0.2


def test_other_ranks_are_not_slow(tmp_path: Path) -> None:
    own_s = iter([0.0, 1.0, 1.0])
    plan = BreakpointPlan(folder=tmp_path, slowdowns={1: 30.0})
    breakpoints = Breakpoints(plan, 0, own_time_s=lambda: next(own_s))
    began = time.monotonic()
    breakpoints.reach(STEP, 1)
    assert time.monotonic() - began < 29


@pytest.mark.parametrize("text", ["{}", "no JSON", "[]", '{"folder": "x", "breakpoints": [{}]}'])
def test_refuses_a_malformed_variable(text: str) -> None:
    with pytest.raises(ContractError, match=r"EVENSHARD_BREAKPOINTS is .* unset it"):
        Breakpoints.from_environment(rank=0, environment={BREAKPOINTS_VARIABLE: text})
