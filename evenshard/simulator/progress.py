"""What an earlier try of an execution came to: RetryPipelineExecution does not begin anew."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from evenshard.simulator.result import StepRecord


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
