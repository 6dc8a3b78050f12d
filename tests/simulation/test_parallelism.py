"""Every way of using many ranks trains the model that one rank trains.

In the exact cases each update is made of all records: what is in it does not depend on the number
of ranks, so the weights of 2 hosts x 2 ranks must be those of one rank, digit by digit but for the
order in which float64 numbers were added.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file
from torch import Tensor

from tests.digits import digits, tar_shard
from tests.simulation.launched import Host, Job, launch, lines

pytestmark = pytest.mark.timeout(400)  # torch starts in every rank; two noisy cores

Values = dict[str, str]

TOLERANCE = 1e-10
SMALL: dict[str, Values] = {
    "bag": {"hash_buckets": "256", "embedding_dim": "8", "hidden_dim": "8"},
    "transformer": {
        "architecture": "transformer",
        "hash_buckets": "256",
        "embedding_dim": "8",
        "hidden_dim": "8",
        "attention_heads": "2",
        "max_words": "5",
    },
    "image": {
        "task": "image",
        "image_size": "8",
        "image_colors": "grey",
        "hidden_dim": "4",
    },
}
EXACT: Values = {
    "dtype": "float64",
    "epochs": "4",
    "schedule": "cosine",
    "warmup_steps": "1",
    "log_every_steps": "1",
}
WAYS: dict[str, Values] = {
    "ddp": {},
    "fsdp": {"parallelism": "fsdp"},
    "accumulated": {"gradient_accumulation_steps": "4"},
    "fsdp-accumulated": {"parallelism": "fsdp", "gradient_accumulation_steps": "4"},
    "clipped": {"max_grad_norm": "0.05"},
    "fsdp-clipped": {"parallelism": "fsdp", "max_grad_norm": "0.05"},
}
BATCH = 16
"""Records of a rank, or more: all it holds."""


def texts(first: int, count: int) -> str:
    words = ("offer", "meeting", "free", "money", "report", "lunch", "click", "agenda")
    return lines(
        [
            {
                "text": " ".join(words[(n * k + k * k) % len(words)] for k in range(n % 7)),
                "label": n * 7 % 3 % 2,
            }
            for n in range(first, first + count)
        ]
    )


# 16, 15, 5 and 4 records on the ranks.
TRAIN: tuple[dict[str, str | bytes], ...] = (
    {"text/a.jsonl": texts(0, 31), "image/a.tar": tar_shard(digits()[:31])},
    {"text/b.jsonl": texts(31, 9), "image/b.tar": tar_shard(digits()[31:40], 31)},
)
VALIDATION: dict[str, str | bytes] = {
    "text/v.jsonl": texts(100, 11),
    "image/v.tar": tar_shard(digits()[100:111]),
}


@dataclass(frozen=True)
class Case:
    """What became of one training."""

    weights: dict[str, Tensor]
    numbers: dict[str, Any]


def run_cases(
    folder: Path,
    cases: dict[str, Values],
    train: tuple[dict[str, str | bytes], ...],
    validation: dict[str, str | bytes],
    devices_per_host: int,
) -> dict[str, Case]:
    done = launch(
        Job(
            folder=folder,
            shards=train,
            validation=validation,
            hyperparameters={
                "program": "tests/simulation/programs/parallelisms.py",
                "cases": json.dumps(cases),
            },
            devices_per_host=devices_per_host,
        )
    )
    assert {host.exit_code for host in done} == {0}, [host.log for host in done]
    return {name: read_case(done[0], name) for name in cases}


def read_case(host: Host, name: str) -> Case:
    found = json.loads((host.base_dir / "model" / "found.json").read_text())
    return Case(weights=load_file(host.base_dir / "model" / name), numbers=found[name])


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Case]:
    """2 hosts x 2 ranks."""
    cases = {
        f"{model}-{way}": {
            **SMALL[model],
            **EXACT,
            "batch_size": str(BATCH // 4 if "accumulated" in way else BATCH),
            **values,
        }
        for model in SMALL
        for way, values in WAYS.items()
    }
    return run_cases(tmp_path_factory.mktemp("many"), cases, TRAIN, VALIDATION, 2)


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Case]:
    """One rank with everything; it needs neither shards of weights nor accumulation."""
    cases = {
        f"{model}-{way}": {**SMALL[model], **EXACT, "batch_size": "64", **WAYS[way]}
        for model in SMALL
        for way in ("ddp", "clipped")
    }
    everything = {name: content for host in TRAIN for name, content in host.items()}
    return run_cases(tmp_path_factory.mktemp("one"), cases, (everything,), VALIDATION, 1)


def difference(case: Case, other: Case) -> float:
    assert case.weights.keys() == other.weights.keys()
    return max(
        (tensor - other.weights[name]).abs().max().item() for name, tensor in case.weights.items()
    )


@pytest.mark.parametrize("model", list(SMALL))
@pytest.mark.parametrize("way", list(WAYS))
def test_two_by_two_is_one_by_one(
    many: dict[str, Case], one: dict[str, Case], model: str, way: str
) -> None:
    case = many[f"{model}-{way}"]
    alone = one[f"{model}-{'clipped' if 'clipped' in way else 'ddp'}"]
    assert difference(case, alone) < TOLERANCE
    assert case.numbers["losses"] == pytest.approx(alone.numbers["losses"], rel=1e-9)
    assert case.numbers["accuracy"] == alone.numbers["accuracy"]
    assert case.numbers["updates"] == alone.numbers["updates"] == 4
    assert case.numbers["validated"] == 11


@pytest.mark.parametrize("model", list(SMALL))
def test_clipping_makes_a_difference(one: dict[str, Case], model: str) -> None:
    assert difference(one[f"{model}-clipped"], one[f"{model}-ddp"]) > 1e5 * TOLERANCE


@pytest.mark.parametrize("model", list(SMALL))
def test_the_schedule_ends_at_zero(many: dict[str, Case], model: str) -> None:
    for way in WAYS:
        assert many[f"{model}-{way}"].numbers["learning_rate"] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("model", list(SMALL))
def test_lines_between_epochs_are_those_of_all_ranks(many: dict[str, Case], model: str) -> None:
    numbers = many[f"{model}-ddp"].numbers
    assert [line["step_loss"] for line in numbers["lines"]] == pytest.approx(numbers["losses"])
    assert all(0 < line["data_wait_share"] < 1 for line in numbers["lines"])
    assert all(line["step_records_per_second"] > 0 for line in numbers["lines"])


IMAGES_TRAIN, IMAGES_VALIDATION = digits()[:1200], digits()[1200:1500]
TRAINING: dict[str, Values] = {
    "text": {"hash_buckets": "2048", "epochs": "4", "learning_rate": "0.01"},
    "image": {**SMALL["image"], "hidden_dim": "16", "epochs": "6"},
}
NUMBERS: dict[str, Values] = {
    "ddp": {},
    "fsdp": {"parallelism": "fsdp"},
    "accumulation": {"gradient_accumulation_steps": "2", "batch_size": "4"},
    "bf16": {"mixed_precision": "bf16"},
    "fp16": {"mixed_precision": "fp16"},
    "fsdp-bf16": {"parallelism": "fsdp", "mixed_precision": "bf16"},
}
NOISE = 0.03
"""Between the accuracies of two trainings that differ in the rounding of numbers: 9 of 300."""


def mail(first: int, count: int) -> str:
    """Texts that are one kind or the other by a few of their words, some by a word of both."""
    kinds = (("meeting", "agenda", "lunch", "notes"), ("winner", "free", "click", "money"))
    records = []
    for n in range(first, first + count):
        label = n * 31 % 7 % 2
        own = [kinds[label][(n + k) % 4] for k in range(1 + n % 3)]
        common = [f"word{n * k % 53}" for k in range(1, 12)]
        other = [kinds[1 - label][n % 4]] if n % 11 == 0 else []
        records.append({"text": " ".join([*common, *own, *other]), "label": label})
    return lines(records)


def train_and_compare(folder: Path, ways: dict[str, Values]) -> dict[str, dict[str, float]]:
    """Accuracies by task and way, of minibatches on uneven hosts."""
    cases = {
        f"{task}-{way}": {**values, "batch_size": "8", **chosen}
        for task, values in TRAINING.items()
        for way, chosen in ways.items()
    }
    train: tuple[dict[str, str | bytes], ...] = (
        {"text/a.jsonl": mail(0, 500), "image/a.tar": tar_shard(IMAGES_TRAIN[:800])},
        {"text/b.jsonl": mail(500, 300), "image/b.tar": tar_shard(IMAGES_TRAIN[800:], 800)},
    )
    validation: dict[str, str | bytes] = {
        "text/v.jsonl": mail(900, 300),
        "image/v.tar": tar_shard(IMAGES_VALIDATION),
    }
    found = run_cases(folder, cases, train, validation, 2)
    return {
        task: {way: found[f"{task}-{way}"].numbers["accuracy"] for way in ways} for task in TRAINING
    }


@pytest.fixture(scope="module")
def accuracies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, float]]:
    return train_and_compare(tmp_path_factory.mktemp("trained"), NUMBERS)


@pytest.mark.parametrize("task", list(TRAINING))
@pytest.mark.parametrize("way", list(NUMBERS))
def test_the_accuracy_is_that_of_plain_numbers(
    accuracies: dict[str, dict[str, float]], task: str, way: str
) -> None:
    assert accuracies[task]["ddp"] > 0.9
    assert accuracies[task][way] == pytest.approx(accuracies[task]["ddp"], abs=NOISE)


@pytest.mark.slow  # torch.compile takes a minute per case on two cores
@pytest.mark.timeout(900)
def test_compiled_models_are_as_good(tmp_path: Path) -> None:
    ways = {
        "ddp": {},
        "compiled": {"compile": "true"},
        "fsdp-compiled": {"compile": "true", "parallelism": "fsdp"},
    }
    for found in train_and_compare(tmp_path, ways).values():
        assert found["compiled"] == pytest.approx(found["ddp"], abs=NOISE)
        assert found["fsdp-compiled"] == pytest.approx(found["ddp"], abs=NOISE)
