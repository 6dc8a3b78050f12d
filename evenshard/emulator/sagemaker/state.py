"""How far an execution is, by its journal."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from evenshard.simulator.events import (
    HostReady,
    JobEnded,
    JobStarted,
    MetricsSeen,
    RunStarted,
    StepEnded,
    StepStarted,
)
from evenshard.simulator.journal import Entry, Retried, RunEnded, StopRequested

EXECUTING: Final = "Executing"
STOPPING: Final = "Stopping"
SUCCEEDED: Final = "Succeeded"
FAILED: Final = "Failed"
STOPPED: Final = "Stopped"
IN_PROGRESS: Final = "InProgress"
COMPLETED: Final = "Completed"


@dataclass(slots=True, kw_only=True)
class JobState:
    """A training or processing job."""

    name: str
    arn: str
    request: Mapping[str, Any]
    created_s: float
    """Like all times here, since 1970."""
    status: str = IN_PROGRESS
    running_s: float | None = None
    """Since when its hosts have their data."""
    ended_s: float | None = None
    changed_s: float
    failure_reason: str | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)
    metrics: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Name -> its last value, and when it was printed."""


@dataclass(slots=True, kw_only=True)
class StepState:
    """A step that has begun."""

    name: str
    type: str
    started_s: float
    attempts: int
    status: str = EXECUTING
    ended_s: float | None = None
    failure_reason: str | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)
    job: JobState | None = None
    """Of the last attempt."""


@dataclass(slots=True, kw_only=True)
class ExecutionState:
    """An execution."""

    status: str = EXECUTING
    failure_reason: str | None = None
    changed_s: float = 0.0
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """With their defaults; empty until the execution's process has looked at them."""
    steps: dict[str, StepState] = field(default_factory=dict)
    """In the order in which they began."""
    jobs: dict[str, JobState] = field(default_factory=dict)
    """Those of earlier attempts too."""
    _attempts: dict[str, int] = field(default_factory=dict)

    def enter(self, entry: Entry) -> None:
        """Take a line of the journal into account."""
        self.changed_s = entry.time_s
        match entry.what:
            case RunStarted():
                self.parameters = entry.what.parameters
            case StepStarted() | StepEnded():
                self._enter_step(entry.what, entry.time_s)
            case JobStarted() | HostReady() | MetricsSeen() | JobEnded():
                self._enter_job(entry.what, entry.time_s)
            case StopRequested() if self.status == EXECUTING:
                self.status = STOPPING
                for one in self._running():
                    one.status = STOPPING
            case Retried():
                self.status, self.failure_reason = EXECUTING, None
                self.steps = {n: s for n, s in self.steps.items() if s.status == SUCCEEDED}
            case RunEnded():
                self._end(entry.what, entry.time_s)

    def _enter_step(self, event: StepStarted | StepEnded, time_s: float) -> None:
        if isinstance(event, StepStarted):
            attempts = self._attempts.get(event.name, 0) + 1
            self._attempts[event.name] = attempts
            self.steps[event.name] = StepState(
                name=event.name, type=event.type, started_s=time_s, attempts=attempts
            )
            return
        step = self.steps[event.name]
        step.status, step.ended_s = event.status, time_s
        step.failure_reason, step.properties = event.failure_reason, event.properties
        step.attempts = self._attempts[event.name] = event.attempts

    def _enter_job(
        self, event: JobStarted | HostReady | MetricsSeen | JobEnded, time_s: float
    ) -> None:
        step = self.steps[event.step]
        if isinstance(event, JobStarted):
            step.job = self.jobs[event.name] = JobState(
                name=event.name,
                arn=event.arn,
                request=event.request,
                created_s=time_s,
                changed_s=time_s,
            )
            return
        job = step.job
        assert job is not None  # noqa: S101 - jobs are reported before what happens in them
        job.changed_s = time_s
        if isinstance(event, HostReady):
            job.running_s = time_s
        elif isinstance(event, MetricsSeen):
            job.metrics.update({name: (value, time_s) for name, value in event.values.items()})
        else:
            job.status, job.ended_s = event.status, time_s
            job.failure_reason, job.properties = event.failure_reason, event.properties

    def _running(self) -> list[StepState | JobState]:
        """The steps and jobs that have no end yet."""
        begun: list[StepState | JobState] = [*self.steps.values(), *self.jobs.values()]
        return [one for one in begun if one.ended_s is None]

    def _end(self, ended: RunEnded, time_s: float) -> None:
        """End the execution, and what its process has not ended: it was killed."""
        self.status, self.failure_reason = ended.status, ended.failure_reason
        for one in self._running():
            one.status, one.ended_s = ended.status, time_s
            one.failure_reason = ended.failure_reason


def state_of(entries: Iterable[Entry]) -> ExecutionState:
    """Read a journal from its begin."""
    state = ExecutionState()
    for entry in entries:
        state.enter(entry)
    return state
