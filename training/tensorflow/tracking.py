"""TensorBoard's events, written by TensorFlow."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import tensorflow as tf

from training.trainer.tracking import Tracker


@contextmanager
def track(folder: Path | None) -> Iterator[Tracker]:
    """Write TensorBoard events below a folder while the block runs; None: track nothing."""
    if folder is None:
        yield Tracker(None)
        return
    writer = tf.summary.create_file_writer(str(folder))

    def write(name: str, value: float, step: int) -> None:
        with writer.as_default():
            tf.summary.scalar(name, value, step)

    try:
        yield Tracker(write)
    finally:
        writer.close()
