"""What both tasks reach in every way of using many ranks, and on one.

The table of docs/hardware.md is written by this module, most of the time by torch.compile:

    python -m tests.simulation.accuracies
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from evenshard.repository import ROOT
from tests.digits import digits, tar_shard
from tests.simulation.cases import SMALL_IMAGES, Shards, Values, run_cases
from tests.simulation.launched import lines

DOCUMENT: Final = ROOT / "docs" / "hardware.md"
MARKERS: Final = ("<!-- accuracies begin -->\n", "<!-- accuracies end -->\n")

NOISE: Final = 0.03
"""Between the accuracies of two trainings that differ in the rounding of numbers: 9 of 300."""
LEARNED: Final = 0.9
"""What a training reaches that learns anything."""
BATCH_SIZE: Final = 8
RANKS: Final = 4

TASKS: Final[Mapping[str, Values]] = {
    "text": {"hash_buckets": "2048", "epochs": "4", "learning_rate": "0.01"},
    "image": {**SMALL_IMAGES, "hidden_dim": "16", "epochs": "6"},
}
PLAIN: Final = "ddp"
EAGER: Final[Mapping[str, Values]] = {
    PLAIN: {},
    "fsdp": {"parallelism": "fsdp"},
    "accumulation": {"gradient_accumulation_steps": "2", "batch_size": str(BATCH_SIZE // 2)},
    "bf16": {"mixed_precision": "bf16"},
    "fp16": {"mixed_precision": "fp16"},
    "fsdp-bf16": {"parallelism": "fsdp", "mixed_precision": "bf16"},
}
COMPILED: Final[Mapping[str, Values]] = {
    "compiled": {"compile": "true"},
    "fsdp-compiled": {"compile": "true", "parallelism": "fsdp"},
}
_COMPILING_S: Final = 1000.0
"""A minute or two for each compiled training on two cores."""
ONE_RANK: Final = "one rank"
ROWS: Final = (*EAGER, *COMPILED, ONE_RANK)

Accuracies = dict[str, dict[str, float]]
"""By task and way, of the validation's 300 records."""


def accuracies(folder: Path, ways: Mapping[str, Values]) -> Accuracies:
    """Train both tasks in some ways, in minibatches on 2 uneven hosts x 2 ranks."""
    cases = {
        f"{task}-{way}": {**values, "batch_size": str(BATCH_SIZE), **chosen}
        for task, values in TASKS.items()
        for way, chosen in ways.items()
    }
    found = run_cases(folder, cases, _hosts(), _validation(), limit_s=_COMPILING_S)
    return {
        task: {way: float(found[f"{task}-{way}"].numbers["accuracy"]) for way in ways}
        for task in TASKS
    }


def accuracies_of_one_rank(folder: Path) -> dict[str, float]:
    """Train both tasks, by name, on one rank, with as many records per update as all the others."""
    cases = {
        task: {**values, "batch_size": str(RANKS * BATCH_SIZE)} for task, values in TASKS.items()
    }
    everything = {name: content for host in _hosts() for name, content in host.items()}
    found = run_cases(folder, cases, (everything,), _validation(), devices_per_host=1)
    return {task: float(case.numbers["accuracy"]) for task, case in found.items()}


def table(found: Mapping[str, Mapping[str, float]]) -> str:
    """The table of docs/hardware.md."""
    rows = [
        f"| {way} | " + " | ".join(f"{found[t][way]:.3f}" for t in TASKS) + " |" for way in ROWS
    ]
    return "\n".join([f"| | {' | '.join(TASKS)} |", "|---|---|---|", *rows]) + "\n"


def _hosts() -> tuple[Shards, Shards]:
    images = digits()
    return (
        {"text/a.jsonl": _mail(0, 500), "image/a.tar": tar_shard(images[:800])},
        {"text/b.jsonl": _mail(500, 300), "image/b.tar": tar_shard(images[800:1200], 800)},
    )


def _validation() -> Shards:
    return {"text/v.jsonl": _mail(900, 300), "image/v.tar": tar_shard(digits()[1200:1500])}


def _mail(first: int, count: int) -> str:
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


def main() -> None:
    """Train everything, then write the table."""
    with tempfile.TemporaryDirectory() as scratch_name:
        scratch = Path(scratch_name)
        found = accuracies(scratch / "many", {**EAGER, **COMPILED})
        alone = accuracies_of_one_rank(scratch / "one")
    rows = {task: {**ways, ONE_RANK: alone[task]} for task, ways in found.items()}
    head, rest = DOCUMENT.read_text(encoding="utf-8").split(MARKERS[0])
    _, tail = rest.split(MARKERS[1])
    DOCUMENT.write_text(f"{head}{MARKERS[0]}{table(rows)}{MARKERS[1]}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
