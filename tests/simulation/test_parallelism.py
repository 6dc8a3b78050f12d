"""Every way of using many ranks trains the model that one rank trains.

In the exact cases each update is made of all records: what is in it does not depend on the number
of ranks, so the weights of 2 hosts x 2 ranks must be those of one rank, digit by digit but for the
order in which float64 numbers were added.
"""

from pathlib import Path

import pytest

from tests.digits import digits, tar_shard
from tests.simulation.accuracies import (
    COMPILED,
    EAGER,
    LEARNED,
    NOISE,
    PLAIN,
    TASKS,
    Accuracies,
    accuracies,
    accuracies_of_one_rank,
)
from tests.simulation.cases import SMALL_IMAGES, Case, Shards, Values, run_cases
from tests.simulation.launched import lines

pytestmark = pytest.mark.timeout(400)  # torch starts in every rank; two noisy cores

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
    "image": {**SMALL_IMAGES, "hidden_dim": "4"},
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
TRAIN: tuple[Shards, ...] = (
    {"text/a.jsonl": texts(0, 31), "image/a.tar": tar_shard(digits()[:31])},
    {"text/b.jsonl": texts(31, 9), "image/b.tar": tar_shard(digits()[31:40], 31)},
)
VALIDATION: Shards = {
    "text/v.jsonl": texts(100, 11),
    "image/v.tar": tar_shard(digits()[100:111]),
}


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
    return run_cases(tmp_path_factory.mktemp("many"), cases, TRAIN, VALIDATION)


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Case]:
    """One rank with everything; it needs neither shards of weights nor accumulation."""
    cases = {
        f"{model}-{way}": {**SMALL[model], **EXACT, "batch_size": "64", **WAYS[way]}
        for model in SMALL
        for way in ("ddp", "clipped")
    }
    everything = {name: content for host in TRAIN for name, content in host.items()}
    return run_cases(
        tmp_path_factory.mktemp("one"), cases, (everything,), VALIDATION, devices_per_host=1
    )


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


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Accuracies:
    return accuracies(tmp_path_factory.mktemp("trained"), EAGER)


@pytest.mark.parametrize("task", list(TASKS))
@pytest.mark.parametrize("way", list(EAGER))
def test_the_accuracy_is_that_of_plain_numbers(found: Accuracies, task: str, way: str) -> None:
    assert found[task][PLAIN] > LEARNED
    assert found[task][way] == pytest.approx(found[task][PLAIN], abs=NOISE)


@pytest.mark.slow  # the weights of one rank are compared above, in short
def test_one_rank_is_as_good(found: Accuracies, tmp_path: Path) -> None:
    for task, accuracy in accuracies_of_one_rank(tmp_path).items():
        assert accuracy == pytest.approx(found[task][PLAIN], abs=NOISE)


@pytest.mark.slow  # torch.compile takes a minute per case on two cores
@pytest.mark.timeout(1200)
def test_compiled_models_are_as_good(found: Accuracies, tmp_path: Path) -> None:
    for task, compiled in accuracies(tmp_path, COMPILED).items():
        for way in COMPILED:
            assert compiled[way] == pytest.approx(found[task][PLAIN], abs=NOISE)
