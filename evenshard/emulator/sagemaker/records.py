"""What the control plane keeps of executions: a file per execution, beside its journal."""

import json
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from evenshard.emulator.sagemaker.state import ExecutionState, state_of
from evenshard.simulator.journal import JOURNAL_FILE, Journal
from evenshard.simulator.worker import ExecutionJob, read_job

_RECORD_FILE: Final = "execution.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionRecord:
    """One execution, as StartPipelineExecution asked for it."""

    folder: Path
    arn: str
    pipeline_arn: str
    token: str
    """ClientRequestToken: a second request with it starts nothing."""
    created_s: float
    """Since 1970."""
    described: Mapping[str, Any]
    """What is given back as it came: display name, description, parallelism, role."""

    @property
    def journal(self) -> Journal:
        """What happened in it."""
        return Journal(self.folder / JOURNAL_FILE)

    @property
    def region(self) -> str:
        """By its ARN."""
        return self.arn.split(":")[3]

    def state(self) -> ExecutionState:
        """How far it is."""
        return state_of(self.journal.entries())

    def job(self) -> ExecutionJob:
        """What runs."""
        return read_job(self.folder)

    def write(self) -> None:
        """Write the file; the execution is known from now on."""
        fields = {key: value for key, value in asdict(self).items() if key != "folder"}
        draft = self.folder / f".{_RECORD_FILE}"
        draft.write_text(json.dumps(fields, indent=2) + "\n", encoding="utf-8")
        draft.replace(self.folder / _RECORD_FILE)


@dataclass(slots=True)
class ExecutionRecords:
    """All executions of a folder of runs, those of earlier emulators too."""

    runs: Path
    _by_arn: dict[str, ExecutionRecord] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        for file in sorted(self.runs.glob(f"*/{_RECORD_FILE}")):
            fields = json.loads(file.read_text(encoding="utf-8"))
            record = ExecutionRecord(folder=file.parent, **fields)
            self._by_arn[record.arn] = record

    def add(self, record: ExecutionRecord) -> None:
        """Keep one more."""
        record.write()
        with self._lock:
            self._by_arn[record.arn] = record

    def find(self, arn: str) -> ExecutionRecord | None:
        """The execution of an ARN."""
        with self._lock:
            return self._by_arn.get(arn)

    def all(self) -> list[ExecutionRecord]:
        """In the order of their start."""
        with self._lock:
            return sorted(self._by_arn.values(), key=lambda record: record.created_s)
