"""Records to the integers that a model takes: in whole batches, or one record after the other.

`padded` is one row of token numbers per line; `bags` are the trainer's own inputs, hashed n-grams.
What is written per record uses the fastest hash of Python's library, not the encoder's.
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from benchmarks.records.ours import make_loader
from benchmarks.records.peers.usual import Lines
from training.contract.hyperparameters import TrainingHyperparameters
from training.pytorch.tasks.text import TextTask
from training.records.encoding import NgramEncoder

BUCKETS: Final = 2**16
WIDTH: Final = 64
"""Tokens of a row: most lines have fewer, the rest are cut."""
NGRAMS: Final = 2
_WORD: Final = re.compile(r"\w+|[!$%]+")


def padded(folder: Path, batch_size: int, _workers: int) -> Iterator[Tensor]:
    """Encode packed batches; yield integers of shape (records, WIDTH)."""
    encoder = NgramEncoder(buckets=BUCKETS)
    for batch in make_loader(folder, batch_size, "packed").epoch(0):
        yield torch.from_numpy(encoder.sequences(batch.data).pad(WIDTH))


def padded_per_record(folder: Path, batch_size: int, _workers: int) -> Iterator[Tensor]:
    """Encode our loader's texts one by one."""
    for batch in make_loader(folder, batch_size, "str").epoch(0):
        yield _rows(batch.data)


def padded_usual(folder: Path, batch_size: int, workers: int) -> Iterable[Tensor]:
    """Encode the usual loader's texts one by one, in its worker processes where it has some."""
    lines = Lines(sorted(folder.iterdir()))
    return DataLoader(
        lines, batch_size=batch_size, shuffle=True, num_workers=workers, collate_fn=_rows
    )


def bags(folder: Path, batch_size: int, _workers: int) -> Iterator[Any]:
    """Encode JSON Lines as the trainer does; yield its inputs."""
    task = TextTask(TrainingHyperparameters(hash_buckets=BUCKETS, ngrams=NGRAMS))
    batches = make_loader(folder, batch_size, "packed").epoch(0)
    for _, inputs in task.encode_ahead(batches):
        yield inputs


def bags_per_record(folder: Path, batch_size: int, _workers: int) -> Iterator[Any]:
    """Encode our loader's lines one by one."""
    for batch in make_loader(folder, batch_size, "bytes").epoch(0):
        yield _bags([json.loads(line) for line in batch.data])


def records_of_inputs(inputs: Any) -> int:  # noqa: ANN401 - the trainer's, or the same by hand
    """Count the labels."""
    return len(inputs[-1])


def _rows(texts: list[str]) -> Tensor:
    rows = []
    for text in texts:
        ids = [crc32(word.encode()) % BUCKETS + 1 for word in _WORD.findall(text.lower())[:WIDTH]]
        rows.append(ids + [0] * (WIDTH - len(ids)))
    return torch.tensor(rows)


def _bags(records: list[dict[str, Any]]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Make n-grams, starts, weights and labels as the trainer's inputs have them."""
    ngrams: list[int] = []
    starts, weights, labels = [], [], []
    for record in records:
        found = _buckets(record["text"])
        starts.append(len(ngrams))
        ngrams += found
        weights += [max(len(found), 1) ** -0.5] * len(found)
        labels.append(float(record["label"]))
    return torch.tensor(ngrams), torch.tensor(starts), torch.tensor(weights), torch.tensor(labels)


def _buckets(text: str) -> list[int]:
    words = [b" " + word.encode() for word in _WORD.findall(text.lower())]
    codes = [0] * len(words)
    found: set[int] = set()
    for shorter in range(NGRAMS):
        codes = [crc32(word, code) for word, code in zip(words[shorter:], codes, strict=False)]
        found.update(code % BUCKETS for code in codes)
    return sorted(found)
