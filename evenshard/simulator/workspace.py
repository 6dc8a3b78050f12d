"""What the steps of one execution share."""

from dataclasses import dataclass, field
from pathlib import Path

from evenshard.simulator.cluster.assignment import Assignment
from evenshard.simulator.cluster.hosts import INTERRUPT_GRACE_S, STOP_GRACE_S
from evenshard.simulator.cluster.injection import FaultPlan
from evenshard.simulator.deployment.functions import Functions
from evenshard.simulator.deployment.registry import ModelRegistry
from evenshard.simulator.deployment.resources import Place
from evenshard.simulator.events import Report
from evenshard.simulator.former import FormerRun
from evenshard.simulator.pipeline.definition import Step
from evenshard.simulator.storage.objects import ObjectStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """The surroundings of a step: where data lies, where to write, whom to tell."""

    functions: Functions
    store: ObjectStore
    registry: ModelRegistry
    folder: Path
    """The run's folder."""
    execution_id: str
    devices_per_host: int
    assignment: Assignment
    report: Report
    faults: FaultPlan = field(default_factory=FaultPlan)
    former: FormerRun | None = None
    """Whose checkpoints the training goes on from."""
    grace_s: float = STOP_GRACE_S
    """Between SIGTERM and SIGKILL."""
    interrupt_grace_s: float = INTERRUPT_GRACE_S
    """The same when this very process is interrupted, if that is less."""
    place: Place = field(default_factory=Place)

    def step_folder(self, step: Step) -> Path:
        """Where a step leaves its files; made if missing."""
        folder = self.folder / "steps" / step.name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def job_name(self, step: Step, attempt: int = 1) -> str:
        """The name of a step's job, in the form that Pipelines gives it; each try has its own."""
        suffix = "local" if attempt == 1 else f"local{attempt}"
        return f"pipelines-{self.execution_id}-{step.name[:20]}-{suffix}"
