"""What a simulation reports while it runs. The command prints these; tests collect them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """The definition is found and the parameters are settled; no step has run yet."""

    execution_id: str
    pipeline: str
    folder: Path
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStarted:
    """A pipeline step begins."""

    name: str
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStarted:
    """A step asks for a training or processing job; every try has a job of its own."""

    step: str
    name: str
    arn: str
    request: Mapping[str, Any]
    """What the Create* request would hold, without the name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostReady:
    """A host has its inputs on disk; its processes have not started."""

    step: str
    host: str
    objects: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsSeen:
    """A line that at least one metric definition matches."""

    step: str
    host: str
    line: str
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionEvaluated:
    """One comparison of a Condition step, with the numbers it compared."""

    step: str
    comparison: str
    """Ready to read: `0.9833 >= 0.95`."""
    outcome: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultHappened:
    """A fault that was asked for."""

    step: str
    fault: str
    """As --fault names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """Something the user should know that stops nothing."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnded:
    """A training or processing job ends, in whatever way."""

    step: str
    name: str
    status: str
    """Completed, Failed or Stopped."""
    failure_reason: str | None
    properties: Mapping[str, Any]
    """Fields of the Describe* response, where it completed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEnded:
    """A pipeline step ends, in whatever way."""

    name: str
    status: str
    seconds: float
    failure_reason: str | None
    properties: Mapping[str, Any]
    """What other steps can `Get` of it; empty unless it succeeded."""
    attempts: int


Event = (
    RunStarted
    | StepStarted
    | JobStarted
    | HostReady
    | MetricsSeen
    | ConditionEvaluated
    | FaultHappened
    | Noted
    | JobEnded
    | StepEnded
)
Report = Callable[[Event], None]
