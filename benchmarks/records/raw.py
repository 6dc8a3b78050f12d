"""The bound: read every byte into one buffer and count the newlines in it."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

BUFFER_BYTES = 4 << 20
NEWLINE = 10


def count_newlines(folder: Path, _batch_size: int, _workers: int) -> Iterator[int]:
    """Yield the newlines of each bufferful."""
    buffer = bytearray(BUFFER_BYTES)
    view, content = memoryview(buffer), np.frombuffer(buffer, np.uint8)
    for path in sorted(folder.iterdir()):
        file = os.open(path, os.O_RDONLY)
        try:
            while size := os.readv(file, [view]):
                yield int(np.count_nonzero(content[:size] == NEWLINE))
        finally:
            os.close(file)
