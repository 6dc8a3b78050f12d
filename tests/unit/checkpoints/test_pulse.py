"""The pulse: rarely asked, always by all ranks after the same step."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from tests.unit.checkpoints.rank_threads import on_ranks
from training.checkpoints import Group, Orders, Pulse
from training.checkpoints.pulse import TRAINING, VALIDATION


@dataclass
class Clock:
    now_s: float = 0.0

    def __call__(self) -> float:
        return self.now_s


@dataclass
class Alone:
    """One rank whose exchanges are counted."""

    clock: Clock = field(default_factory=Clock)
    exchanges: int = 0
    told: bool = False

    def all_gather(self, numbers: Sequence[int]) -> list[list[int]]:
        self.exchanges += 1
        return [[int(number) for number in numbers]]

    def pulse(self, save_every_s: float = math.inf) -> Pulse:
        return Pulse(
            all_gather=self.all_gather,
            is_told_to_stop=lambda: self.told,
            save_every_s=save_every_s,
            clock_s=self.clock,
        )


def take_steps(alone: Alone, pulse: Pulse, steps: int, step_s: float) -> list[Orders]:
    orders = []
    for _ in range(steps):
        alone.clock.now_s += step_s
        orders.append(pulse.beat())
    return orders


def test_short_steps_are_asked_about_once_a_second() -> None:
    alone = Alone()
    take_steps(alone, alone.pulse(), 10_000, step_s=0.001)
    assert 10 <= alone.exchanges <= 10 + 6  # a few more while the pace is being learnt


def test_long_steps_are_asked_about_each_time() -> None:
    alone = Alone()
    take_steps(alone, alone.pulse(), 10, step_s=3)
    assert alone.exchanges == 10


def test_a_stop_is_noticed_within_two_seconds() -> None:
    alone = Alone()
    pulse = alone.pulse()
    take_steps(alone, pulse, 5000, step_s=0.001)
    alone.told = True
    orders = take_steps(alone, pulse, 2000, step_s=0.001)
    assert any(order.stop for order in orders)


@pytest.mark.parametrize("faster", [0.1, 1000])
def test_steps_that_change_their_pace_are_followed(faster: float) -> None:
    alone = Alone()
    pulse = alone.pulse()
    take_steps(alone, pulse, 300, step_s=0.1)
    take_steps(alone, pulse, 3000, step_s=0.1 / faster)
    alone.exchanges = 0
    take_steps(alone, pulse, 20 * int(10 * faster), step_s=0.1 / faster)
    assert 19 <= alone.exchanges <= 27


def test_a_stop_is_noticed_soon_after_steps_that_were_much_shorter() -> None:
    # Updates of many batches, and a validation whose steps are single ones.
    alone = Alone()
    pulse = alone.pulse()
    for _ in range(2):
        take_steps(alone, pulse, 40, step_s=5)
        pulse.ask()
        pulse.turn_to(VALIDATION)
        take_steps(alone, pulse, 4000, step_s=0.005)
        pulse.ask()
        pulse.turn_to(TRAINING)
    alone.told = True
    (noticed,) = take_steps(alone, pulse, 1, step_s=5)
    assert noticed.stop


def test_steps_of_a_kind_go_on_at_their_own_pace() -> None:
    alone = Alone()
    pulse = alone.pulse()
    take_steps(alone, pulse, 5000, step_s=0.001)
    pulse.turn_to(VALIDATION)
    take_steps(alone, pulse, 10, step_s=1)
    pulse.turn_to(TRAINING)
    alone.exchanges = 0
    take_steps(alone, pulse, 5000, step_s=0.001)
    assert 4 <= alone.exchanges <= 6


def test_saving_is_due_by_the_clock_and_once() -> None:
    alone = Alone()
    pulse = alone.pulse(save_every_s=10)
    saved_at_s = []
    for _ in range(300):
        alone.clock.now_s += 0.1
        if pulse.beat().save:
            saved_at_s.append(alone.clock.now_s)
            pulse.saved()
    assert len(saved_at_s) == 2
    assert 10 <= saved_at_s[0] <= 11.5
    assert 10 <= saved_at_s[1] - saved_at_s[0] <= 11.5


def test_asking_in_between_does_not_upset_the_steps() -> None:
    alone = Alone()
    pulse = alone.pulse()
    take_steps(alone, pulse, 1000, step_s=0.01)
    assert not pulse.ask().stop
    assert 50 <= pulse.steps_left <= 100


def test_all_ranks_stop_after_the_same_step() -> None:
    """Rank 3 is told at its step 41, the others never; each has a clock of its own."""

    def train(group: Group) -> tuple[int, Orders]:
        clock = Clock()
        told = False
        pulse = Pulse(
            all_gather=group.all_gather,
            is_told_to_stop=lambda: told,
            save_every_s=math.inf,
            clock_s=clock,
        )
        for step in range(1, 500):
            clock.now_s += 0.01 * (1 + group.rank)
            told = group.rank == 3 and step >= 41
            orders = pulse.beat()
            if orders.stop:
                return step, orders
        return 0, Orders(stop=False, save=False, told=())

    results = on_ranks(train)
    assert len(set(results)) == 1
    step, orders = results[0]
    assert 41 <= step <= 41 + 100
    assert orders.told == (3,)
