"""result.json: what one execution did. The schema is public."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from evenshard.simulator.cluster.injection import FaultPlan
from evenshard.simulator.processes import finish_if_killed
from evenshard.simulator.run_folder import RESULT_FILE

KILLED: Final = "InternalFailure: the process that ran this execution was killed."
"""Why an execution has failed that could not say so itself."""


class Status(StrEnum):
    """SageMaker's own words for executions and for steps.

    A step that never started has no status and is not listed, as in ListPipelineExecutionSteps.
    """

    EXECUTING = "Executing"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    STOPPED = "Stopped"


@dataclass(slots=True, kw_only=True)
class HostRecord:
    """What one host of one step got and used."""

    name: str
    objects: int
    """S3 objects of its sharded inputs; of all inputs where the step shards none."""
    bytes: int
    """Bytes of those objects."""
    records: int | None = None
    """Records it trained on per epoch, by its own report; None where it wrote none."""

    def document(self) -> dict[str, Any]:
        """This host as result.json holds it."""
        return {
            "name": self.name,
            "objects": self.objects,
            "bytes": self.bytes,
            "records": self.records,
        }


@dataclass(slots=True, kw_only=True)
class StepRecord:
    """What one pipeline step did; filled in while it runs."""

    name: str
    type: str
    status: Status = Status.EXECUTING
    seconds: float = 0.0
    failure_reason: str | None = None
    hosts: list[HostRecord] = field(default_factory=list)
    metrics: dict[str, list[float]] = field(default_factory=dict)
    """Metric name -> its values in the order they were printed."""
    attempts: int = 1
    """How often the step was tried; more than once where a retry policy said so."""
    interruptions: int = 0
    """How often a spot job was interrupted and went on, within all attempts."""

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "StepRecord":
        """Read what `document` wrote."""
        fields = {
            **document,
            "status": Status(document["status"]),
            "hosts": [HostRecord(**host) for host in document["hosts"]],
        }
        return cls(**fields)

    def document(self) -> dict[str, Any]:
        """This step as result.json holds it."""
        return {
            "name": self.name,
            "type": self.type,
            "status": self.status.value,
            "seconds": round(self.seconds, 3),
            "failure_reason": self.failure_reason,
            "hosts": [host.document() for host in self.hosts],
            "metrics": {name: list(values) for name, values in self.metrics.items()},
            "attempts": self.attempts,
            "interruptions": self.interruptions,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPackage:
    """One registered version of a model."""

    group: str
    version: int
    approval_status: str
    model_data: str
    """s3:// URI of model.tar.gz."""
    metrics: Mapping[str, Any]
    """The evaluation file as it was written."""

    def document(self) -> dict[str, Any]:
        """This package as result.json holds it."""
        return {
            "group": self.group,
            "version": self.version,
            "approval_status": self.approval_status,
            "model_data": self.model_data,
            "metrics": dict(self.metrics),
        }


@dataclass(slots=True, kw_only=True)
class Result:
    """One execution."""

    execution_id: str
    pipeline: str
    folder: Path
    """Everything the execution left: definition.json, result.json, steps/, objects/."""
    status: Status = Status.EXECUTING
    failure_reason: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    steps: list[StepRecord] = field(default_factory=list)
    model_package: ModelPackage | None = None
    model_file: Path | None = None
    """Where model_data lies on this machine. Not part of result.json."""
    faults: FaultPlan = field(default_factory=FaultPlan)
    resumed_from: str | None = None
    """The execution whose checkpoints this one goes on from."""

    def stop(self) -> None:
        """Mark the execution, and the step that was running, as stopped."""
        self.status = Status.STOPPED
        for step in self.steps:
            if step.status is Status.EXECUTING:
                step.status = Status.STOPPED

    def fail(self, reason: str) -> None:
        """Mark the execution, and the step that was running, as failed."""
        self.status, self.failure_reason = Status.FAILED, reason
        for step in self.steps:
            if step.status is Status.EXECUTING:
                step.status, step.failure_reason = Status.FAILED, reason

    def document(self) -> dict[str, Any]:
        """The content of result.json."""
        package = self.model_package
        return {
            "execution_id": self.execution_id,
            "pipeline": self.pipeline,
            "status": self.status.value,
            "failure_reason": self.failure_reason,
            "parameters": dict(self.parameters),
            "steps": [step.document() for step in self.steps],
            "model_package": package.document() if package else None,
            "faults": [planned.document() for planned in self.faults.planned],
            "resumed_from": self.resumed_from,
        }

    def text(self) -> str:
        """result.json, byte for byte."""
        return _text(self.document())

    def write(self) -> Path:
        """Write result.json into the run's folder."""
        _write_whole(self._file, self.text())
        self._draft.unlink(missing_ok=True)
        return self._file

    def write_ahead(self) -> None:
        """Write what result.json is to say should this process be killed: that it has failed."""
        document = self.document()
        running = [step for step in document["steps"] if step["status"] == Status.EXECUTING]
        for failed in (document, *running):
            failed["status"], failed["failure_reason"] = Status.FAILED.value, KILLED
        with suppress(OSError):  # of a full disk: what is to be written there fails by itself
            _write_whole(self._draft, _text(document))
        finish_if_killed(self._draft, self._file)

    @property
    def _file(self) -> Path:
        return self.folder / RESULT_FILE

    @property
    def _draft(self) -> Path:
        return self.folder / f".{RESULT_FILE}"


def _text(document: Mapping[str, Any]) -> str:
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    # Bytes of a command line that are no UTF-8 are what JSON can only say with an escape.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _write_whole(file: Path, text: str) -> None:
    """Write a file that whoever reads it finds as it was or as it is to be."""
    part = file.with_name(f"{file.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(file)
