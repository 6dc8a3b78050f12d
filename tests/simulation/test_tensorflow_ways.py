"""Every way of training with TensorFlow gives the model that one rank gets, on many ranks.

As in test_parallelism: in the exact cases each update is made of all records, so the weights of 2
hosts x 2 ranks must be those of one rank but for the order in which float64 numbers were added.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.simulation.launched import Job, launch, lines
from training.contract.layout import TENSORFLOW

pytestmark = pytest.mark.timeout(400)  # TensorFlow starts in every rank; two noisy cores

Values = dict[str, str]

TOLERANCE = 1e-10
WORDS = ("offer", "meeting", "free", "money", "report", "lunch", "click", "free money")
EXACT: Values = {
    "vocabulary_size": "10",
    "embedding_dim": "8",
    "hidden_dim": "8",
    "dtype": "float64",
    "epochs": "4",
    "schedule": "cosine",
    "warmup_steps": "1",
    "log_every_steps": "1",
}
BATCH = 16
"""Records of a rank, or more: all it holds."""
WAYS: dict[str, Values] = {
    "plain": {},
    "accumulated": {"gradient_accumulation_steps": "4", "batch_size": str(BATCH // 4)},
    "clipped": {"max_grad_norm": "0.05"},
    "compiled": {"compile": "true"},
    "compiled-accumulated": {
        "compile": "true",
        "gradient_accumulation_steps": "4",
        "batch_size": str(BATCH // 4),
    },
}
NOISE = 0.03
"""Between the accuracies of two trainings that differ in the rounding of numbers: 9 of 300."""
PLAIN: Values = {
    "vocabulary_size": "10",
    "batch_size": "8",
    "epochs": "4",
    "learning_rate": "0.01",
}
NUMBERS: dict[str, Values] = {
    "float32": {},
    "bf16": {"mixed_precision": "bf16"},
    "fp16": {"mixed_precision": "fp16", "max_grad_norm": "5"},
    "auto": {"mixed_precision": "auto"},
}


def texts(first: int, count: int) -> list[dict[str, Any]]:
    words = ("offer", "meeting", "free", "money", "report", "lunch", "click", "agenda")
    return [
        {
            "text": " ".join(words[(n * k + k * k) % len(words)] for k in range(n % 7)),
            "label": n * 7 % 3 % 2,
        }
        for n in range(first, first + count)
    ]


def mail(first: int, count: int) -> list[dict[str, Any]]:
    """Texts that are one kind or the other by their words, some with a word of both."""
    kinds = (("meeting", "report", "lunch"), ("free", "money", "click"))
    records = []
    for n in range(first, first + count):
        label = n * 31 % 7 % 2
        own = [kinds[label][(n + k) % 3] for k in range(1 + n % 3)]
        other = [kinds[1 - label][n % 3]] if n % 11 == 0 else []
        records.append({"text": " ".join(["offer", *own, *other]), "label": label})
    return records


@dataclass(frozen=True)
class Case:
    """What became of one training."""

    weights: list[NDArray[np.float64]]
    numbers: dict[str, Any]


def run_cases(
    folder: Path,
    cases: dict[str, Values],
    train: tuple[list[dict[str, Any]], ...],
    validation: list[dict[str, Any]],
    devices_per_host: int,
) -> dict[str, Case]:
    done = launch(
        Job(
            folder=folder,
            shards=tuple({f"{n}.jsonl": lines(records)} for n, records in enumerate(train)),
            validation=lines(validation),
            hyperparameters={
                "program": "tests/simulation/programs/tensorflow_ways.py",
                "cases": json.dumps(cases),
                "words": json.dumps(WORDS),
            },
            devices_per_host=devices_per_host,
            framework=TENSORFLOW,
        )
    )
    assert {host.exit_code for host in done} == {0}, [host.log for host in done]
    out = done[0].base_dir / "model"
    found = json.loads((out / "found.json").read_text())
    return {name: Case(arrays(out / f"{name}.npz"), found[name]) for name in cases}


def arrays(path: Path) -> list[NDArray[np.float64]]:
    with np.load(path) as content:
        return [content[name] for name in content.files]


# 16, 15, 5 and 4 records on the ranks.
RECORDS = texts(0, 40)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Case]:
    """2 hosts x 2 ranks."""
    exact = {name: {**EXACT, "batch_size": str(BATCH), **values} for name, values in WAYS.items()}
    return run_cases(
        tmp_path_factory.mktemp("many"), exact, (RECORDS[:31], RECORDS[31:]), texts(100, 11), 2
    )


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Case]:
    """One rank with everything; it needs no accumulation."""
    cases = {name: {**EXACT, "batch_size": "64", **WAYS[name]} for name in ("plain", "clipped")}
    return run_cases(tmp_path_factory.mktemp("one"), cases, (RECORDS,), texts(100, 11), 1)


def difference(case: Case, other: Case) -> float:
    pairs = zip(case.weights, other.weights, strict=True)
    return max(float(abs(ours - theirs).max()) for ours, theirs in pairs)


@pytest.mark.parametrize("way", list(WAYS))
def test_two_by_two_is_one_by_one(many: dict[str, Case], one: dict[str, Case], way: str) -> None:
    case, alone = many[way], one["clipped" if way == "clipped" else "plain"]
    assert difference(case, alone) < TOLERANCE
    assert case.numbers["losses"] == pytest.approx(alone.numbers["losses"], rel=1e-9)
    assert case.numbers["accuracy"] == alone.numbers["accuracy"]
    assert case.numbers["updates"] == alone.numbers["updates"] == 4


def test_clipping_makes_a_difference(one: dict[str, Case]) -> None:
    assert difference(one["clipped"], one["plain"]) > 1e5 * TOLERANCE


def test_the_schedule_ends_at_zero(many: dict[str, Case]) -> None:
    assert [case.numbers["last_rate"] for case in many.values()] == pytest.approx([0.0] * len(WAYS))


def test_lines_between_epochs_are_those_of_all_ranks(many: dict[str, Case]) -> None:
    numbers = many["accumulated"].numbers
    assert [line["step_loss"] for line in numbers["lines"]] == pytest.approx(numbers["losses"])
    assert all(0 < line["data_wait_share"] < 1 for line in numbers["lines"])
    assert all(line["step_records_per_second"] > 0 for line in numbers["lines"])


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Case]:
    """2 hosts, minibatches, uneven; numbers of fewer bits."""
    cases = {name: {**PLAIN, **values} for name, values in NUMBERS.items()}
    train = (mail(0, 500), mail(500, 300))
    return run_cases(tmp_path_factory.mktemp("trained"), cases, train, mail(900, 300), 1)


@pytest.mark.parametrize("numbers", list(NUMBERS))
def test_the_accuracy_is_that_of_plain_numbers(short: dict[str, Case], numbers: str) -> None:
    plain = short["float32"].numbers["accuracy"]
    assert plain > 0.9
    assert short[numbers].numbers["accuracy"] == pytest.approx(plain, abs=NOISE)


def test_fewer_bits_are_fewer_bits(short: dict[str, Case]) -> None:
    for numbers in ("bf16", "fp16"):
        assert 1e-4 < difference(short[numbers], short["float32"]) < 0.5
    # Processors compute no faster with fewer.
    assert difference(short["auto"], short["float32"]) < 1e-4
