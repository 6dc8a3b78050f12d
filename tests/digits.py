"""Real images: scikit-learn's handwritten digits, as PNG samples in tar shards."""

import io
import tarfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

Sample = tuple[bytes, int]
"""A PNG file of 8 x 8 grey pixels, and the digit."""

RECORDS = 1797
_LEVELS = 16


@cache
def digits() -> tuple[Sample, ...]:
    """All of them, in one random order that never changes."""
    bunch = load_digits()
    order = np.random.default_rng(0).permutation(RECORDS)
    pixels = (bunch.images * 255 / _LEVELS).astype(np.uint8)
    return tuple((as_png(pixels[index]), int(bunch.target[index])) for index in order)


def as_png(pixels: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, format="PNG")
    return buffer.getvalue()


def tar_shard(samples: Sequence[Sample], first_key: int = 0) -> bytes:
    """Pack samples as `key.png` and `key.cls`."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for key, (image, label) in enumerate(samples, first_key):
            for name, content in _members(key, image, label):
                member = tarfile.TarInfo(name)
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def _members(key: int, image: bytes, label: int) -> Iterator[tuple[str, bytes]]:
    yield f"{key:05}.png", image
    yield f"{key:05}.cls", str(label).encode()


def write_shard(file: Path, samples: Sequence[Sample]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(tar_shard(samples))
