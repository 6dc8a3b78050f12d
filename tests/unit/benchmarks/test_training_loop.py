import json
from pathlib import Path

import pytest

from benchmarks.records.ranks import run_ranks
from benchmarks.training_loop.measuring import (
    BARE,
    BATCH_SIZE,
    IN_MEMORY,
    STEPS,
    WHOLE,
    Measured,
    cpu_of,
    measure,
)
from benchmarks.training_loop.report import MARKERS, overhead, publish, tables
from evenshard.repository import ROOT
from training.contract.hyperparameters import TrainingHyperparameters

EPOCH_S = STEPS * 0.01
"""Ten milliseconds a step."""
FOUND = {
    "text": {
        1: {"whole": [EPOCH_S, EPOCH_S, 9 * EPOCH_S]},
        2: {
            "bare": [EPOCH_S, 2 * EPOCH_S, EPOCH_S],
            "in_memory": [1.02 * EPOCH_S, 2.04 * EPOCH_S, 5 * EPOCH_S],
            "whole": [1.25 * EPOCH_S, 2.5 * EPOCH_S, 1.25 * EPOCH_S],
            "bare_cpu": [EPOCH_S, EPOCH_S, EPOCH_S],
            "in_memory_cpu": [1.01 * EPOCH_S, 1.01 * EPOCH_S, 1.5 * EPOCH_S],
        },
    }
}


@pytest.mark.timeout(300)  # two ranks load torch
def test_every_loop_takes_its_turn_on_every_rank() -> None:
    small = TrainingHyperparameters(
        batch_size=BATCH_SIZE, hash_buckets=64, embedding_dim=2, hidden_dim=2
    )
    job = Measured(settings=small, loops=(BARE, IN_MEMORY, WHOLE), rounds=1)
    found = run_ranks(measure, job)
    assert set(found) == {*job.loops, *map(cpu_of, job.loops)}
    assert all(len(seconds) == 1 and seconds[0] > 0 for seconds in found.values())


def test_rounds_are_compared_with_their_own_bare_loop() -> None:
    # The second round was slow for all, the third for one loop only.
    assert abs(overhead(FOUND["text"][2], "in_memory") - 0.02) < 1e-9


def test_the_tables() -> None:
    pace = BATCH_SIZE / 0.01
    lines = tables(FOUND, [0.1, 2.0]).splitlines()
    assert "| text | 10.0 ms | +2.0% | +1.0% | +25.0% |" in lines
    assert "| records per second | 1 rank | 2 ranks |" in lines
    assert f"| text | {pace:,.0f} (1.00 x) | {pace * 1.6:,.0f} (1.60 x) |" in lines
    assert "load average 0.1 before and 2.0 at the end" in lines[-1]


def test_only_what_is_between_the_marks_is_replaced(tmp_path: Path) -> None:
    page, results = tmp_path / "page.md", tmp_path / "results.json"
    page.write_text(f"before\n{MARKERS[0]}old\n{MARKERS[1]}after\n")
    publish(FOUND, [0.1, 2.0], page=page, results=results)
    text = page.read_text()
    assert text == f"before\n{MARKERS[0]}{tables(FOUND, [0.1, 2.0])}{MARKERS[1]}after\n"
    kept = json.loads(results.read_text())
    assert kept["seconds_per_epoch"]["text"]["1"]["whole"][0] == EPOCH_S


def test_the_page_has_the_marks_once() -> None:
    text = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert [text.count(mark) for mark in MARKERS] == [1, 1]
