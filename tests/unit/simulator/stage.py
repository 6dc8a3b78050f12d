"""One step on a stage of its own: a small store, and a script in the place of the container."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from evenshard.simulator.cluster.assignment import parse_assignment
from evenshard.simulator.deployment.assembly import Assembly
from evenshard.simulator.deployment.registry import Registry
from evenshard.simulator.events import Event, Noted
from evenshard.simulator.pipeline.definition import Step
from evenshard.simulator.result import StepRecord
from evenshard.simulator.steps import processing, training
from evenshard.simulator.steps.outcome import StepRun
from evenshard.simulator.storage.objects import LocalObjectStore, ObjectStore
from evenshard.simulator.workspace import Workspace
from tests.unit.simulator.assemblies import Json, definition_of, write_assembly


@dataclass(kw_only=True)
class Stage:
    """Where a step runs, and what it reported."""

    workspace: Workspace
    assembly: Assembly
    registry: Registry
    events: list[Event] = field(default_factory=list)

    @property
    def store(self) -> ObjectStore:
        return self.workspace.store

    def put(self, uri: str, content: bytes) -> None:
        """Create or replace an object."""
        file = self.workspace.folder.parent / "to-upload"
        file.write_bytes(content)
        self.store.upload(file, uri)
        file.unlink()

    def base_dir(self, host: str, step: str = "Train") -> Path:
        return self.workspace.folder / "steps" / step / "hosts" / host

    def run_of(self, raw: Json) -> StepRun:
        step = Step(name=raw["Name"], type=raw["Type"], path=f"Steps.{raw['Name']}", fields=raw)
        return StepRun(
            step=step,
            arguments=raw.get("Arguments", {}),
            workspace=self.workspace,
            record=StepRecord(name=step.name, type=step.type),
        )


def make_stage(folder: Path, store: ObjectStore | None = None) -> Stage:
    """A stage with three shards of different sizes under s3://data/train/."""
    events: list[Event] = []
    assembly = Assembly(write_assembly(folder / "assembly", definition_of()))
    registry = Registry(folder / "registry")
    workspace = Workspace(
        functions=assembly,
        store=store or LocalObjectStore(folder / "objects", {}),
        registry=registry,
        folder=folder / "run",
        execution_id="abc123abc123",
        devices_per_host=2,
        assignment=parse_assignment("round-robin"),
        report=events.append,
    )
    stage = Stage(workspace=workspace, assembly=assembly, registry=registry, events=events)
    for number in range(3):
        stage.put(f"s3://data/train/part-{number}", b"x" * (number + 1))
    stage.put("s3://data/validation/all", b"v" * 7)
    stage.put("s3://data/test/all", b"t" * 5)
    return stage


def notes(events: Sequence[Event]) -> list[str]:
    """What was noted, of all that was reported."""
    return [event.text for event in events if isinstance(event, Noted)]


def play(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Callable[[str], None]:
    """Return what replaces the command of every container by a script."""

    def cast(script: str) -> None:
        file = folder / "script.py"
        file.write_text(script, encoding="utf-8")
        for module in (training, processing):
            monkeypatch.setattr(module, "container_command", lambda *_: [sys.executable, str(file)])

    return cast
