"""Faults of real trainings: each ends by itself, and says why. docs/faults.md has all of them.

A run that hangs would end with MaxRuntimeExceeded or the test's timeout; none may.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.simulation.fault_matrix import CELLS, Cell, Ended, run_cell, training_only
from tests.simulation.pipeline_runs import Edit
from training.contract.layout import FRAMEWORKS

pytestmark = pytest.mark.timeout(400)  # four ranks load a framework, twice in some; two noisy cores

ENDS_WITHIN_S = 200
"""Of the last fault, a restart included."""

# What is expected of a kind, whatever the moment and the framework: the outcome, how often the
# step was tried, how often it was interrupted, and what the reason says.
EXPECTED: Mapping[str, tuple[str, int, int, str]] = {
    "one host is told to stop": ("Failed", 1, 0, "stopped because algo-2 was told to"),
    "all hosts are told to stop": ("Stopped", 1, 0, r"\A\Z"),
    "a rank is killed": ("Failed", 1, 0, "algo-2, rank 3 was killed by SIGKILL"),
    "the chief rank is killed": ("Failed", 1, 0, "algo-1, rank 0 was killed by SIGKILL"),
    "a machine goes away": ("Succeeded", 2, 0, r"\A\Z"),
    "a rank stalls": ("Failed", 1, 0, "rank 3"),
    "a spot instance is reclaimed": ("Succeeded", 1, 1, r"\A\Z"),
    "the chief's disk is full": ("Failed", 1, 0, "algo-1.*(larger volume|File too large|full)"),
    "a host is slow": ("Succeeded", 1, 0, r"\A\Z"),
    "a shard is damaged": ("Failed", 1, 0, r"part-00002\.jsonl, line \d+"),
}


@pytest.fixture(scope="module")
def assemblies(edited: Callable[[Edit], Path]) -> dict[str, Path]:
    return {framework: edited(training_only(framework)) for framework in FRAMEWORKS}


@pytest.mark.slow  # 68 runs of about 20 s
@pytest.mark.parametrize("cell", [pytest.param(cell, id=cell.name) for cell in CELLS])
def test_a_fault_ends_as_expected(
    cell: Cell, assemblies: dict[str, Path], mail: Path, tmp_path: Path
) -> None:
    ended = run_cell(cell, assemblies[cell.framework], mail, tmp_path / "state")
    assert_expected(cell, ended)


def assert_expected(cell: Cell, ended: Ended) -> None:
    status, attempts, interruptions, reason = EXPECTED[cell.what]
    assert ended.happened, ended
    assert (ended.status, ended.attempts, ended.interruptions) == (status, attempts, interruptions)
    assert re.search(reason, ended.reason, re.DOTALL), ended.reason
    assert "MaxRuntimeExceeded" not in ended.reason
    assert ended.seconds < ENDS_WITHIN_S


def test_the_matrix_covers_what_it_promises() -> None:
    assert len(CELLS) >= 60
    assert len({cell.name for cell in CELLS}) == len(CELLS)
    assert {cell.what for cell in CELLS} == set(EXPECTED)
