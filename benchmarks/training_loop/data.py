"""Records to train on, made from a seed: texts of about a kilobyte, images of 32 x 32 pixels."""

import io
import json
import tarfile
from pathlib import Path
from typing import Final

import numpy as np
from PIL import Image

from training.contract.hyperparameters import IMAGE_TASK

_WORDS: Final = 20_000
_WORDS_PER_TEXT: Final = 150
_PIXELS: Final = 32
_CLASSES: Final = 10


def write_shard(folder: Path, task: str, records: int, seed: int) -> None:
    """Write one shard of a built-in task, called by its seed: no two hosts hold the same."""
    folder.mkdir(parents=True)
    random = np.random.default_rng(seed)
    if task == IMAGE_TASK:
        _write_images(folder / f"part-{seed:05}.tar", records, random)
    else:
        _write_texts(folder / f"part-{seed:05}.jsonl", records, random)


def _write_texts(path: Path, records: int, random: np.random.Generator) -> None:
    with path.open("w") as file:
        for _ in range(records):
            words = np.minimum(random.zipf(1.3, _WORDS_PER_TEXT), _WORDS)
            text = " ".join(f"word{number}" for number in words)
            file.write(json.dumps({"text": text, "label": int(random.integers(2))}) + "\n")


def _write_images(path: Path, records: int, random: np.random.Generator) -> None:
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for key in range(records):
            pixels = random.integers(0, 256, (_PIXELS, _PIXELS, 3), np.uint8)
            image = io.BytesIO()
            Image.fromarray(pixels).save(image, format="PNG")
            for ending, content in (
                ("png", image.getvalue()),
                ("cls", str(random.integers(_CLASSES)).encode()),
            ):
                member = tarfile.TarInfo(f"{key:06}.{ending}")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
