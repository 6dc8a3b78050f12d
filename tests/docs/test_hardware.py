"""docs/hardware.md has the accuracy of every way of using many ranks, and they are alike."""

import pytest

from tests.simulation.accuracies import DOCUMENT, LEARNED, MARKERS, NOISE, PLAIN, ROWS, TASKS


def rows() -> dict[str, list[float]]:
    """Accuracies by way, in the order of TASKS."""
    text = DOCUMENT.read_text(encoding="utf-8")
    table = text.partition(MARKERS[0])[2].partition(MARKERS[1])[0]
    cells = [line.strip("|").split("|") for line in table.splitlines()[2:]]
    return {way.strip(): [float(number) for number in numbers] for way, *numbers in cells}


def test_the_table_has_every_way() -> None:
    assert list(rows()) == list(ROWS)


@pytest.mark.parametrize("way", ROWS)
def test_accuracies_are_those_of_plain_numbers(way: str) -> None:
    plain = rows()[PLAIN]
    assert len(plain) == len(TASKS)
    assert min(plain) > LEARNED
    assert rows()[way] == pytest.approx(plain, abs=NOISE)
