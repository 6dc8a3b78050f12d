"""When all ranks do something together that only one of them was told: stop, or save.

A signal reaches one host, a clock runs out on one rank first; but ranks that do not act between the
same two steps wait for each other for ever. So they ask each other now and then. To ask at every
step would cost a small collective each time; the pulse asks about once a second, and the ranks
agree beforehand on the number of steps until the next time.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from training.checkpoints.group import AllGather

INTERVAL_S: Final = 1.0
"""Between two questions: how long a stop goes unnoticed, against what asking costs."""
_GROWTH: Final = 4
"""By how much the steps between two questions grow at most: the first steps of a job say little."""


TRAINING: Final = "training"
VALIDATION: Final = "validation"
"""Kinds of steps, each of a length of its own: one of a training may be a hundred batches."""


class Orders(NamedTuple):
    """What all ranks do now."""

    stop: bool
    save: bool
    told: tuple[int, ...] = ()
    """The ranks that were told to stop."""
    troubles: tuple[int, ...] = ()
    """What each rank said of its trouble, see Pulse; () where nobody was asked."""


NOTHING: Final = Orders(stop=False, save=False)
NO_TROUBLE: Final = -1


@dataclass(slots=True, kw_only=True)
class Pulse:
    """Called after every step, equally often on all ranks."""

    all_gather: AllGather
    is_told_to_stop: Callable[[], bool]
    save_every_s: float
    """Between two checkpoints, by the chief's clock; inf: never."""
    trouble: Callable[[], int] = lambda: NO_TROUBLE
    """Looks at what costs too much to look at after every step; a number, NO_TROUBLE if it is
    fine."""
    clock_s: Callable[[], float] = time.monotonic
    steps_left: int = 1
    """Until the next question."""
    _asked_steps: int = 1
    _kind: str = TRAINING
    _asked_steps_of: dict[str, int] = field(default_factory=dict)
    """What was agreed on last, by kind of steps; the same on all ranks."""
    _asked_s: float = field(init=False)
    _saved_s: float = field(init=False)

    def __post_init__(self) -> None:
        self._asked_s = self._saved_s = self.clock_s()

    def beat(self) -> Orders:
        """One step is done."""
        self.steps_left -= 1
        return NOTHING if self.steps_left > 0 else self.ask()

    def ask(self) -> Orders:
        """Ask now, whatever the steps: at the end of something."""
        now_s = self.clock_s()
        due = now_s - self._saved_s >= self.save_every_s
        mine = [self.is_told_to_stop(), due, self._steps_ahead(now_s), self.trouble()]
        said = self.all_gather(mine)
        self._asked_s = now_s
        self.steps_left = self._asked_steps = said[0][2]
        return _orders(said)

    def turn_to(self, kind: str) -> None:
        """Steps of another kind come next: TRAINING or VALIDATION; all ranks say so alike.

        The next question comes when it would have come after the last steps of that kind.
        """
        self._asked_steps_of[self._kind] = self._asked_steps
        self._kind = kind
        self.steps_left = self._asked_steps = self._asked_steps_of.get(kind, 1)

    def saved(self) -> None:
        """A checkpoint was written: the next one is due after `save_every_s` from now."""
        self._saved_s = self._asked_s = self.clock_s()

    def _steps_ahead(self, now_s: float) -> int:
        steps = self._asked_steps - max(self.steps_left, 0)
        if steps == 0:
            return self._asked_steps  # asked twice in a row: that says nothing of the pace
        per_step_s = max((now_s - self._asked_s) / steps, 1e-9)
        return max(min(int(INTERVAL_S / per_step_s), _GROWTH * self._asked_steps), 1)


def _orders(said: Sequence[Sequence[int]]) -> Orders:
    told = tuple(rank for rank, (is_told, *_) in enumerate(said) if is_told)
    troubles = tuple(trouble for *_, trouble in said)
    return Orders(stop=bool(told), save=bool(said[0][1]), told=told, troubles=troubles)
