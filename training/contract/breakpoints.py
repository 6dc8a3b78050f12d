"""Named moments of a training at which a simulated fault may happen.

Trainers say where they are, `breakpoints.reach("step", 30)`. On SageMaker that does nothing. The
simulator sets a variable that lists moments: a rank that reaches one says so in a file and waits
until the simulator has acted, so that a fault happens at that moment and no other.
"""

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from training.contract.errors import ContractError
from training.contract.layout import BREAKPOINTS_VARIABLE
from training.contract.stops import is_stop_of_job

START: Final = "start"
"""The rank runs and has not met the others yet."""
STEP: Final = "step"
"""So many optimizer steps are done, counted over all epochs and over what was resumed."""
SAVING: Final = "saving"
"""A checkpoint is partly written: this rank's own files, and no index of it yet."""
EVALUATION: Final = "evaluation"
"""An epoch's steps are done and its validation begins."""
POINTS: Final = (START, STEP, SAVING, EVALUATION)

_POLL_S: Final = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakpoint:
    """One moment of one rank."""

    id: str
    """Names its files: `<id>.reached` and `<id>.go`."""
    rank: int
    """Global."""
    point: str
    """One of POINTS."""
    number: int | None = None
    """Which of them; None: the first that comes."""
    is_of_a_stop: bool = False
    """This rank's host is told to stop then. The rank goes on when its launcher has heard it too,
    or a few fast steps could end the training before."""

    def reached_file(self, folder: Path) -> Path:
        """Written by the rank; holds its process id."""
        return folder / f"{self.id}.reached"

    def go_file(self, folder: Path) -> Path:
        """Written by the simulator: the rank goes on. Without it the rank stalls for ever."""
        return folder / f"{self.id}.go"


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakpointPlan:
    """What the variable says: to all ranks of a host, or of all hosts."""

    folder: Path
    breakpoints: Sequence[Breakpoint] = ()
    slowdowns: Mapping[int, float] = field(default_factory=dict)
    """Global rank -> how many times its own time each of its steps takes, above 1."""

    def text(self) -> str:
        """The variable's value."""
        return json.dumps(
            {
                "folder": str(self.folder),
                "breakpoints": [asdict(each) for each in self.breakpoints],
                "slowdowns": {str(rank): factor for rank, factor in self.slowdowns.items()},
            }
        )

    @classmethod
    def from_text(cls, text: str) -> "BreakpointPlan":
        """Read the variable's value.

        Raises:
            ContractError: it is not what `text` writes.
        """
        try:
            content: dict[str, Any] = json.loads(text)
            return cls(
                folder=Path(content["folder"]),
                breakpoints=[Breakpoint(**each) for each in content["breakpoints"]],
                slowdowns={int(rank): float(f) for rank, f in content["slowdowns"].items()},
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ContractError(
                f"{BREAKPOINTS_VARIABLE} is {text[:200]!r}: {type(error).__name__}: {error}. The "
                "simulator writes it; unset it for a training without faults."
            ) from error


class Breakpoints:
    """The moments of this rank at which something may happen. Without any, reaching one is free."""

    def __init__(
        self,
        plan: BreakpointPlan | None,
        rank: int,
        *,
        own_time_s: Callable[[], float] = time.process_time,
    ) -> None:
        """Take what concerns this rank.

        Args:
            plan: None where nothing is to happen.
            rank: the global one.
            own_time_s: a clock of what this process does itself. Not the wall's: a slow rank must
                not slow down for having waited for another slow one.
        """
        self._folder = plan.folder if plan else Path()
        self._waiting = [each for each in plan.breakpoints if each.rank == rank] if plan else []
        self._factor = plan.slowdowns.get(rank, 1.0) if plan else 1.0
        self._own_time_s = own_time_s
        self._step_began_s = own_time_s()

    @classmethod
    def from_environment(
        cls, *, rank: int, environment: Mapping[str, str] | None = None
    ) -> "Breakpoints":
        """Read the simulator's variable; without it nothing ever happens.

        Args:
            rank: this process's global rank.
            environment: the variables to read; this process's own when None.

        Raises:
            ContractError: the variable is malformed.
        """
        variables = os.environ if environment is None else environment
        text = variables.get(BREAKPOINTS_VARIABLE)
        return cls(BreakpointPlan.from_text(text) if text else None, rank)

    def reach(self, point: str, number: int | None = None) -> None:
        """Say that this rank is at a point. Returns at once unless the simulator waits for it.

        Args:
            point: one of POINTS.
            number: which of them: steps done, the step of a checkpoint, the epoch from 0.
        """
        if self._factor > 1 and point == STEP:
            self._dawdle()
        for each in self._waiting:
            if each.point == point and each.number in (None, number):
                self._waiting.remove(each)
                self._stop_at(each)
                break

    def _stop_at(self, reached: Breakpoint) -> None:
        file = reached.reached_file(self._folder)
        draft = file.with_suffix(".draft")
        draft.write_text(str(os.getpid()), encoding="utf-8")
        draft.replace(file)  # whoever sees it can read it
        while not reached.go_file(self._folder).exists():
            time.sleep(_POLL_S)
        while reached.is_of_a_stop and not is_stop_of_job():
            time.sleep(_POLL_S)

    def _dawdle(self) -> None:
        own_s = self._own_time_s() - self._step_began_s
        time.sleep(own_s * (self._factor - 1))
        self._step_began_s = self._own_time_s()
