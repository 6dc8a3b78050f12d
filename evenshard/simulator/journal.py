"""The journal of an execution: what happened and when, a line of JSON per event.

Written while the execution runs and read at the same time by whoever wants to know how far it is.
"""

import dataclasses
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from evenshard.simulator.events import (
    ConditionEvaluated,
    Event,
    FaultHappened,
    HostReady,
    JobEnded,
    JobStarted,
    MetricsSeen,
    Noted,
    RunStarted,
    StepEnded,
    StepStarted,
)

JOURNAL_FILE: Final = "journal.jsonl"
"""In the folder of the execution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRequested:
    """Somebody asked that the execution be stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retried:
    """The execution, which had ended, is tried again: steps that succeeded are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded:
    """The execution is over; nothing of it runs any more."""

    status: str
    """Succeeded, Failed or Stopped."""
    failure_reason: str | None


Happening = Event | StopRequested | Retried | RunEnded
_KINDS: Final[Mapping[str, type[Any]]] = {
    kind.__name__: kind
    for kind in (
        RunStarted,
        StepStarted,
        JobStarted,
        HostReady,
        MetricsSeen,
        ConditionEvaluated,
        FaultHappened,
        Noted,
        JobEnded,
        StepEnded,
        StopRequested,
        Retried,
        RunEnded,
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line."""

    time_s: float
    """Since 1970."""
    what: Happening


@dataclass(frozen=True, slots=True)
class Journal:
    """A file that lines are added to, by several processes at once."""

    file: Path

    def add(self, what: Happening) -> None:
        """Add a line, whole or not at all for whoever reads."""
        fields = {"time_s": time.time(), "kind": type(what).__name__, **dataclasses.asdict(what)}
        line = json.dumps(fields, ensure_ascii=False, default=str) + "\n"
        # One write to the end: two writers' lines do not mix, and a signal does not cut it.
        descriptor = os.open(self.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)

    def entries(self) -> Iterator[Entry]:
        """What it holds so far; nothing if there is no file."""
        if not self.file.exists():
            return
        with self.file.open(encoding="utf-8") as lines:
            for line in lines:
                # The last one may be on its way; where a disk was full, one is cut, and the next
                # one that there was room for is the rest of its line.
                if line.endswith("\n"):
                    with suppress(json.JSONDecodeError):
                        yield _entry(json.loads(line))


def _entry(fields: dict[str, Any]) -> Entry:
    time_s, kind = fields.pop("time_s"), _KINDS[fields.pop("kind")]
    if kind is RunStarted:
        fields["folder"] = Path(fields["folder"])
    return Entry(time_s=time_s, what=kind(**fields))
