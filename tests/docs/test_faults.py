"""docs/faults.md says of every combination what came of it, and it is what must come."""

import re
from dataclasses import dataclass

import pytest

from tests.simulation.fault_matrix import (
    CELLS,
    DOCUMENT,
    ENDS_WITHIN_S,
    EXPECTED,
    MARKERS,
    Cell,
    outcome,
)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the table."""

    name: str
    outcome: str
    seconds: float
    reason: str


def rows() -> list[Row]:
    text = DOCUMENT.read_text(encoding="utf-8")
    table = text.partition(MARKERS[0])[2].partition(MARKERS[1])[0]
    found = []
    for line in table.splitlines()[2:]:
        framework, what, when, ended, seconds, reason = re.split(r" *(?<!\\)\| *", line)[1:-1]
        found.append(
            Row(
                name=f"{framework}: {what} ({when})",
                outcome=ended,
                seconds=float(seconds),
                reason=reason,
            )
        )
    return found


def test_the_table_has_every_combination_in_order() -> None:
    assert [row.name for row in rows()] == [cell.name for cell in CELLS]


@pytest.mark.parametrize("cell", [pytest.param(cell, id=cell.name) for cell in CELLS])
def test_what_came_is_what_must_come(cell: Cell) -> None:
    (row,) = (row for row in rows() if row.name == cell.name)
    expected = EXPECTED[cell.what]
    assert row.outcome == outcome(expected)
    assert re.search(expected.reason, row.reason), row.reason
    assert 0 < row.seconds < ENDS_WITHIN_S
    assert "MaxRuntimeExceeded" not in row.reason
