"""TensorBoard's events, written by TensorFlow."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import tensorflow as tf

from training.trainer.tracking import Tracker

# tf.summary.scalar does the same, but is TensorBoard's own, which the image need not have.
_SCALAR: Final = tf.compat.v1.SummaryMetadata(
    plugin_data=tf.compat.v1.SummaryMetadata.PluginData(plugin_name="scalars"),
    data_class="DATA_CLASS_SCALAR",
)


@contextmanager
def track(folder: Path | None) -> Iterator[Tracker]:
    """Write TensorBoard events below a folder while the block runs; None: track nothing."""
    if folder is None:
        yield Tracker(None)
        return
    writer = tf.summary.create_file_writer(str(folder))

    def write(name: str, value: float, step: int) -> None:
        with writer.as_default():
            tf.summary.write(name, value, step, metadata=_SCALAR)

    try:
        yield Tracker(write)
    finally:
        writer.close()
