"""A data set that a classifier learns in one epoch, in shards of very different sizes."""

import json
import random
from collections.abc import Sequence
from pathlib import Path

TRAIN_SHARDS = (40, 3, 90, 17, 61, 8)
"""Records of each training shard."""
_WORDS = (
    ("meeting", "report", "patch", "thanks", "kernel", "lunch"),
    ("winner", "offer", "free", "cash", "click", "prize"),
)


def write_splits(folder: Path, train: Sequence[int] = TRAIN_SHARDS) -> Path:
    """Write train/ in shards of the given sizes, validation/ and test/ in one shard each."""
    draw = random.Random(7)  # noqa: S311 - repeatable words, nothing secret
    splits = {"train": train, "validation": (40,), "test": (60,)}
    for split, sizes in splits.items():
        for number, size in enumerate(sizes):
            write_shard(
                folder, f"{split}/part-{number:05}.jsonl", [_record(draw) for _ in range(size)]
            )
    return folder


def write_shard(folder: Path, name: str, records: Sequence[object]) -> None:
    """Write records, or lines that are none, as one shard."""
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _record(draw: random.Random) -> dict[str, object]:
    label = draw.randrange(2)
    return {"text": " ".join(draw.choices(_WORDS[label], k=8)), "label": label}
