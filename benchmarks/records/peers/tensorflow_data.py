"""tf.data, tuned by its performance guide: parallel reads, no fixed order, prefetch by autotune."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import tensorflow as tf

from benchmarks.records.counts import NUMBER_DIGITS

BUFFER_RECORDS = 10_000


def text_lines(folder: Path, batch_size: int, _workers: int) -> Iterable[Any]:
    """Read lines with a shuffle buffer; a batch is a tensor of strings."""
    paths = [str(path) for path in sorted(folder.iterdir())]
    options = tf.data.Options()
    options.deterministic = False
    lines = tf.data.TextLineDataset(paths, num_parallel_reads=tf.data.AUTOTUNE)
    shuffled = lines.with_options(options).shuffle(BUFFER_RECORDS)
    batches: Iterable[Any] = shuffled.batch(batch_size).prefetch(tf.data.AUTOTUNE)
    return batches


def length(batch: Any) -> int:  # noqa: ANN401 - tensorflow has no types
    """Count the strings of a tensor."""
    return int(batch.shape[0])


def numbers(batch: Any) -> list[int]:  # noqa: ANN401 - tensorflow has no types
    """Read the numbers that the strings begin with."""
    return [int(text[:NUMBER_DIGITS]) for text in batch.numpy().tolist()]
