"""What an earlier try of an execution came to: RetryPipelineExecution does not begin anew."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from evenshard.simulator.events import JobStarted, StepEnded, StepStarted
from evenshard.simulator.journal import Journal
from evenshard.simulator.result import Status, StepRecord
from evenshard.simulator.run_folder import RESULT_FILE


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptStep:
    """A step that succeeded and is not run again."""

    record: StepRecord
    properties: Mapping[str, Any]
    """What other steps can `Get` of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where an execution goes on."""

    kept: Mapping[str, KeptStep] = field(default_factory=dict)
    attempts: Mapping[str, int] = field(default_factory=dict)
    """How often the other steps were tried, so that no two jobs get one name."""


NO_PROGRESS: Final = Progress()


def progress_of(folder: Path, journal: Journal) -> Progress:
    """Find out how far an execution got; not at all, if this is its first try.

    Args:
        folder: the execution's, with the result.json of the try before.
        journal: of the execution.
    """
    events = [entry.what for entry in journal.entries()]
    ended = [event for event in events if isinstance(event, StepEnded)]
    # A try that was killed has begun steps and jobs that never ended.
    steps = Counter(event.name for event in events if isinstance(event, StepStarted))
    jobs = Counter(event.step for event in events if isinstance(event, JobStarted))
    records = _former_records(folder / RESULT_FILE)
    kept = {
        event.name: KeptStep(record=records[event.name], properties=event.properties)
        for event in ended
        if event.status == Status.SUCCEEDED and event.name in records
    }
    attempts = steps | jobs | Counter({event.name: event.attempts for event in ended})
    return Progress(kept=kept, attempts=attempts)


def _former_records(file: Path) -> dict[str, StepRecord]:
    """Step -> its record; a try that left no result keeps nothing."""
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except OSError:
        return {}
    return {step["name"]: StepRecord.of(step) for step in document["steps"]}
