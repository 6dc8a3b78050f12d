"""What a step gets and what it gives back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from evenshard.simulator.pipeline.definition import Step
from evenshard.simulator.result import ModelPackage, StepRecord
from evenshard.simulator.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRun:
    """One step about to run."""

    step: Step
    arguments: Mapping[str, Any]
    """Its Arguments, expressions evaluated and fields checked."""
    workspace: Workspace
    record: StepRecord
    """Filled in while the step runs, so that a failed step still shows its hosts."""

    @property
    def path(self) -> str:
        """Of the arguments, for messages."""
        return f"{self.step.path}.Arguments"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a step that succeeded leaves for the others."""

    properties: Mapping[str, Any]
    """What `Get` finds below `Steps.<name>.`: the fields of the Describe* response."""
    package: ModelPackage | None = None
    """What a RegisterModel step registered."""


Handler = Callable[[StepRun], Outcome]
