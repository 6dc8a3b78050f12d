"""Faults of real trainings: each ends by itself, and says why. docs/faults.md has all of them.

A run that hangs would end with MaxRuntimeExceeded or the test's timeout; none may.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.simulation.fault_matrix import (
    CELLS,
    ENDS_WITHIN_S,
    EXPECTED,
    Cell,
    Ended,
    run_cell,
    training_only,
)
from tests.simulation.pipeline_runs import Edit
from training.contract.layout import FRAMEWORKS

pytestmark = pytest.mark.timeout(400)  # four ranks load a framework, twice in some; two noisy cores

ALWAYS: Final = {
    # Of every kind, moment and framework; what tests of the launcher run anyway is not run again.
    "pytorch: one host is told to stop (saving)",
    "pytorch: all hosts are told to stop (mid-epoch)",
    "pytorch: a rank is killed (saving)",
    "pytorch: the chief rank is killed (start)",
    "pytorch: a machine goes away (mid-epoch)",
    "pytorch: a rank stalls (first epoch)",
    "pytorch: a spot instance is reclaimed (mid-epoch)",
    "pytorch: the chief's disk is full (saving)",
    "pytorch: a host is slow (whole run)",
    "pytorch: a shard is damaged (whole run)",
    "tensorflow: a rank is killed (mid-epoch)",
    "tensorflow: a spot instance is reclaimed (first epoch)",
    "tensorflow: all hosts are told to stop (first epoch)",
}
"""The combinations that run with the short tests."""


def parameter(cell: Cell) -> object:
    # Slow: 68 runs of about 20 s.
    marks = () if cell.name in ALWAYS else (pytest.mark.slow,)
    return pytest.param(cell, id=cell.name, marks=marks)


@pytest.fixture(scope="module")
def assemblies(edited: Callable[[Edit], Path]) -> dict[str, Path]:
    return {framework: edited(training_only(framework)) for framework in FRAMEWORKS}


@pytest.mark.parametrize("cell", [parameter(cell) for cell in CELLS])
def test_a_fault_ends_as_expected(
    cell: Cell, assemblies: dict[str, Path], mail: Path, tmp_path: Path
) -> None:
    ended = run_cell(cell, assemblies[cell.framework], mail, tmp_path / "state")
    assert_expected(cell, ended)


def assert_expected(cell: Cell, ended: Ended) -> None:
    expected = EXPECTED[cell.what]
    assert ended.happened, ended
    assert (ended.status, ended.attempts, ended.interruptions) == (
        expected.status,
        expected.attempts,
        expected.interruptions,
    ), ended
    assert re.search(expected.reason, ended.reason, re.DOTALL), ended.reason
    assert "MaxRuntimeExceeded" not in ended.reason
    assert ended.seconds < ENDS_WITHIN_S


def test_the_matrix_covers_what_it_promises() -> None:
    assert len(CELLS) >= 60
    assert len({cell.name for cell in CELLS}) == len(CELLS)
    assert {cell.what for cell in CELLS} == set(EXPECTED)


def test_the_short_tests_run_a_dozen_of_all_kinds() -> None:
    chosen = [cell for cell in CELLS if cell.name in ALWAYS]
    assert len(chosen) == len(ALWAYS) >= 12
    assert {cell.what for cell in chosen} == set(EXPECTED)
    assert {cell.moment for cell in chosen} == {cell.moment for cell in CELLS}
    assert {cell.framework for cell in chosen} == set(FRAMEWORKS)
