"""Faults x moments x frameworks, each really run over 2 hosts with 2 ranks each.

The table of docs/faults.md is written by this module, half an hour to an hour on two cores:

    python -m tests.simulation.fault_matrix [FOLDER]

FOLDER keeps the results: what is there already is not run again.
"""

import json
import re
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from evenshard.output import say
from evenshard.repository import ROOT
from evenshard.simulator import SimulationRequest, simulate
from evenshard.simulator.deployment.assembly import synthesize
from tests.simulation.pipeline_runs import Edit, Json, edit_definition, step_of
from tests.simulation.small_mail import write_splits
from training.contract.layout import FRAMEWORKS, PYTORCH, TENSORFLOW

DOCUMENT: Final = ROOT / "docs" / "faults.md"
MARKERS: Final = ("<!-- matrix begins -->\n", "<!-- matrix ends -->\n")
EPOCHS: Final = 2
BATCH_SIZE: Final = 8
MOMENTS: Final[Mapping[str, str]] = {
    # 12 steps per epoch: 191 records on algo-1, 28 on algo-2.
    "start": "start",
    "first epoch": "step=3",
    "mid-epoch": "step=18",
    "saving": "saving",
}
_KINDS: Final[Mapping[str, Sequence[str]]] = {
    "one host is told to stop": ["sigterm:algo-2@{}"],
    "all hosts are told to stop": ["sigterm:algo-1@{}", "sigterm:algo-2@{}"],
    "a rank is killed": ["sigkill:algo-2/1@{}"],
    "the chief rank is killed": ["sigkill:algo-1/0@{}"],
    "a machine goes away": ["sigkill:algo-2@{}"],
    "a rank stalls": ["stall:algo-2/1@{}"],
    "a spot instance is reclaimed": ["spot:algo-2@{}"],
    "the chief's disk is full": ["disk-full:algo-1@{}"],
}
_WHOLE_RUN: Final[Mapping[str, Sequence[str]]] = {
    "a host is slow": ["slow:algo-2x3"],
    "a shard is damaged": ["corrupt:train/part-00002.jsonl"],
}
_SMALL: Final[Mapping[str, Mapping[str, str]]] = {
    # Too large for a full disk all the same.
    PYTORCH: {"hash_buckets": "1024"},
    TENSORFLOW: {"vocabulary_size": "1024", "sequence_length": "32"},
}
STALLED_AFTER_S: Final = 20
"""collective_timeout_s: long enough for frameworks to load on busy processors."""
ENDS_WITHIN_S: Final = 200
"""Of the last fault, a restart included: a run that takes longer hangs."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One combination."""

    framework: str
    what: str
    moment: str
    faults: tuple[str, ...]

    @property
    def name(self) -> str:
        """For people, and for the file of its result."""
        return f"{self.framework}: {self.what} ({self.moment})"


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How one run ended."""

    status: str
    attempts: int
    interruptions: int
    happened: bool
    """Whether all its faults did."""
    seconds: float
    """From the last fault to the end of the Train step."""
    reason: str


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What a kind of fault must come to, whatever the moment and the framework."""

    status: str
    attempts: int = 1
    interruptions: int = 0
    reason: str = r"\A\Z"
    """A regular expression that is found in it; without one, there is no reason."""


EXPECTED: Final[Mapping[str, Expected]] = {
    "one host is told to stop": Expected(
        status="Failed", reason="stopped because algo-2 was told to"
    ),
    "all hosts are told to stop": Expected(status="Stopped"),
    "a rank is killed": Expected(status="Failed", reason="algo-2, rank 3 was killed by SIGKILL"),
    "the chief rank is killed": Expected(
        status="Failed", reason="algo-1, rank 0 was killed by SIGKILL"
    ),
    "a machine goes away": Expected(status="Succeeded", attempts=2),
    "a rank stalls": Expected(status="Failed", reason="algo-2, rank 3 stalled"),
    "a spot instance is reclaimed": Expected(status="Succeeded", interruptions=1),
    "the chief's disk is full": Expected(
        status="Failed", reason="algo-1.*(larger volume|File too large|full)"
    ),
    "a host is slow": Expected(status="Succeeded"),
    "a shard is damaged": Expected(status="Failed", reason=r"part-00002\.jsonl, line \d+"),
}

CELLS: Final = [
    Cell(
        framework=framework,
        what=what,
        moment=moment,
        faults=tuple(fault.format(point) for fault in faults),
    )
    for framework in FRAMEWORKS
    for what, faults in _KINDS.items()
    for moment, point in MOMENTS.items()
] + [
    Cell(framework=framework, what=what, moment="whole run", faults=tuple(faults))
    for framework in FRAMEWORKS
    for what, faults in _WHOLE_RUN.items()
]


def training_only(framework: str, **hyperparameters: str) -> Edit:
    """An edit of the definition: nothing but Preflight and Train, small, with checkpoints."""

    def change(definition: Json) -> None:
        definition["Steps"] = [step_of(definition, name) for name in ("Preflight", "Train")]
        arguments = step_of(definition, "Train")["Arguments"]
        uri = ["s3://checkpoints", {"Get": "Execution.PipelineExecutionId"}, "train/"]
        arguments["CheckpointConfig"] = {"S3Uri": {"Std:Join": {"On": "/", "Values": uri}}}
        arguments["HyperParameters"].update(
            {
                **_SMALL[framework],
                "embedding_dim": "16",
                "hidden_dim": "16",
                "stop_wait_s": "3",
                "collective_timeout_s": str(STALLED_AFTER_S),
                **hyperparameters,
            }
        )

    return change


def run_cell(cell: Cell, assembly: Path, data: Path, state_folder: Path) -> Ended:
    """Run one combination in this process."""
    began_s = time.monotonic()
    result = simulate(
        SimulationRequest(
            framework=cell.framework,
            data=data,
            assembly=assembly,
            state_folder=state_folder,
            hosts=2,
            devices_per_host=2,
            parameters={"Epochs": str(EPOCHS), "BatchSize": str(BATCH_SIZE)},
            faults=cell.faults,
            grace_s=30,
        ),
        lambda _event: None,
    )
    wall_s = time.monotonic() - began_s
    train = result.steps[-1]
    last_s = max((planned.after_s or 0.0 for planned in result.faults.planned), default=0.0)
    return Ended(
        status=result.status.value,
        attempts=train.attempts,
        interruptions=train.interruptions,
        happened=not result.faults.open(),
        seconds=round(wall_s - last_s, 1),
        reason=train.failure_reason or "",
    )


def table(results: Mapping[str, Ended]) -> str:
    """The table of docs/faults.md."""
    lines = [
        "| framework | what | when | outcome | s to end | reason |",
        "|---|---|---|---|---|---|",
    ]
    for cell in CELLS:
        ended = results[cell.name]
        lines.append(
            f"| {cell.framework} | {cell.what} | {cell.moment} | {outcome(ended)} "
            f"| {ended.seconds:.0f} | {_short(ended.reason)} |"
        )
    return "\n".join(lines) + "\n"


def outcome(ended: Ended | Expected) -> str:
    """How a run ended, or has to end, as the table says it."""
    extras = []
    if ended.attempts > 1:
        extras.append(f"attempt {ended.attempts}")
    if ended.interruptions:
        extras.append("resumed")
    if isinstance(ended, Ended) and not ended.happened:
        extras.append("it never came to it")
    return f"{ended.status} ({', '.join(extras)})" if extras else ended.status


def _short(reason: str, limit: int = 180) -> str:
    text = re.sub(r"\s+", " ", reason).replace("|", "\\|")
    return text if len(text) <= limit else text[: limit - 3] + "..."


def main(folder: Path) -> None:
    """Run what is missing, then write the table."""
    folder.mkdir(parents=True, exist_ok=True)
    results: dict[str, Ended] = {}
    with tempfile.TemporaryDirectory() as scratch_name:
        scratch = Path(scratch_name)
        data = write_splits(scratch / "data")
        synthesized = synthesize(scratch / "assembly").folder
        assemblies = {
            framework: edit_definition(synthesized, scratch / framework, training_only(framework))
            for framework in FRAMEWORKS
        }
        for number, cell in enumerate(CELLS):
            file = folder / f"{number:02}.json"
            if not file.exists():
                ended = run_cell(cell, assemblies[cell.framework], data, scratch / "state")
                file.write_text(json.dumps({"cell": asdict(cell), "ended": asdict(ended)}))
                say(f"{cell.name}: {outcome(ended)}, {ended.seconds} s: {ended.reason}")
            results[cell.name] = Ended(**json.loads(file.read_text())["ended"])
    text = DOCUMENT.read_text(encoding="utf-8")
    head, rest = text.split(MARKERS[0])
    _, tail = rest.split(MARKERS[1])
    DOCUMENT.write_text(f"{head}{MARKERS[0]}{table(results)}{MARKERS[1]}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp()))
