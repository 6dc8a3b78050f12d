"""docs/runs.md has every key of result.json, and every exit code."""

import re
from pathlib import Path
from typing import Any

from evenshard.errors import ExitCode
from evenshard.repository import ROOT
from evenshard.simulator.cluster.faults import parse_fault
from evenshard.simulator.cluster.injection import FaultPlan, PlannedFault
from evenshard.simulator.result import HostRecord, ModelPackage, Result, Status, StepRecord

PAGE = (ROOT / "docs" / "runs.md").read_text(encoding="utf-8")
_, _, RESULT = PAGE.partition("\n## result.json\n")
RESULT, _, CODES = RESULT.partition("\n## Exit codes\n")


def _named(text: str) -> set[str]:
    return set(re.findall(r"`([a-z_]+)`", text))


def _document() -> dict[str, Any]:
    """A result that has everything once."""
    package = ModelPackage(
        group="g", version=1, approval_status="Approved", model_data="s3://b/k", metrics={}
    )
    host = HostRecord(name="algo-1", objects=1, bytes=1)
    return Result(
        execution_id="e",
        pipeline="p",
        folder=Path(),
        steps=[StepRecord(name="Train", type="Training", hosts=[host])],
        model_package=package,
        faults=FaultPlan(planned=(PlannedFault(fault=parse_fault("spot:algo-1")),)),
    ).document()


def test_every_key_of_the_result_is_told() -> None:
    document = _document()
    table, _, rest = RESULT.partition("\n\nOf a step:")
    steps, _, package = rest.partition("\n\nOf a model package:")
    assert set(document) | set(document["faults"][0]) <= _named(table)
    assert set(document["steps"][0]) | set(document["steps"][0]["hosts"][0]) == _named(steps)
    assert set(document["model_package"]) == _named(package)


def test_every_status_of_an_end_is_told() -> None:
    told = set(re.findall(r"`([A-Z]\w+)`", RESULT))
    assert told == {status.value for status in Status} - {Status.EXECUTING.value}


def test_every_exit_code_is_told() -> None:
    told = [int(code) for code in re.findall(r"^\| (\d+) \|", CODES, flags=re.MULTILINE)]
    assert told == sorted(ExitCode)
