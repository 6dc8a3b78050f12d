"""The task `image`: a PNG file in, the probability of each class out.

Shards are tar archives; a sample is `key.png` and `key.cls`, a file that holds the class's number.
"""

import io
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError
from torch import Tensor, nn
from torch.nn import functional

from training.contract.hyperparameters import TrainingHyperparameters
from training.pytorch.measures import Classes
from training.pytorch.task import Task
from training.records import Batch, LoaderSettings, RecordError, Shard

_IMAGE: Final = "png"
_CLASS: Final = "cls"
_MODES: Final = {"grey": "L", "rgb": "RGB"}
_LEVELS: Final = 255.0


class ImageInputs(NamedTuple):
    """A batch of B images of S x S pixels in C channels."""

    pixels: Tensor
    """-1 to 1; shape (B, C, S, S)."""
    labels: Tensor
    """0 to classes - 1; integers of shape (B,)."""


class ImageClassifier(nn.Module):
    """Three convolutions, the second at half the size -> mean over places -> logits."""

    def __init__(self, channels: int, width: int, classes: int) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(channels, width, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, padding=1, stride=2),
            nn.ReLU(),
            nn.Conv2d(2 * width, 2 * width, 3, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(2),
            nn.Flatten(),
        )
        self.output = nn.Linear(8 * width, classes)

    def forward(self, inputs: ImageInputs) -> Tensor:
        """Compute the logits, shape (B, classes)."""
        logits: Tensor = self.output(self.features(inputs.pixels))
        return logits


class ImageTask(Task[ImageInputs]):
    """Tells images of several classes apart."""

    def __init__(self, settings: TrainingHyperparameters) -> None:
        super().__init__(settings)
        self.measure = Classes(settings.classes)
        self._mode = _MODES[settings.image_colors]

    def build_model(self) -> nn.Module:
        """Make the model."""
        channels = len(Image.new(self._mode, (1, 1)).getbands())
        return ImageClassifier(channels, self.settings.hidden_dim, self.settings.classes)

    def loader_settings(self, settings: LoaderSettings, shards: Sequence[Shard]) -> LoaderSettings:  # noqa: ARG002 - of any shards
        """Read samples as they are, which lets a missing file be named."""
        return replace(settings, output="records")

    def encode(self, batch: Batch) -> ImageInputs:
        """Decode images and classes.

        Raises:
            RecordError: a sample lacks a file, or it does not hold an image or a class.
        """
        pixels, labels = [], []
        for index, sample in enumerate(batch.records):
            try:
                pixels.append(self._pixels(_part(sample, _IMAGE)))
                labels.append(self._class(_part(sample, _CLASS)))
            except ValueError as error:
                raise RecordError(f"{batch.locate(index)}: {error}") from error
        scaled = torch.from_numpy(np.stack(pixels)).to(self.dtype) * (2 / _LEVELS) - 1
        return ImageInputs(pixels=scaled, labels=torch.tensor(labels))

    def record_losses(self, outputs: Tensor, inputs: ImageInputs) -> Tensor:
        """Compute the cross entropy of each record, shape (B,)."""
        return functional.cross_entropy(outputs, inputs.labels, reduction="none")

    def predict(self, outputs: Tensor) -> Tensor:
        """Decide on the class of each record, shape (B,)."""
        return outputs.argmax(dim=1)

    def targets(self, inputs: ImageInputs) -> Tensor:
        """Tell the classes, shape (B,)."""
        return inputs.labels

    def _pixels(self, content: bytes) -> NDArray[np.uint8]:
        """Decode an image to bytes of shape (C, S, S)."""
        side = self.settings.image_size
        try:
            with Image.open(io.BytesIO(content), formats=["PNG"]) as image:
                converted = image.convert(self._mode)
        except (UnidentifiedImageError, OSError, SyntaxError) as error:
            raise ValueError(f".{_IMAGE} is no whole PNG image ({error}).") from error
        if converted.size != (side, side):
            converted = converted.resize((side, side), Image.Resampling.BILINEAR)
        pixels = np.asarray(converted, np.uint8)
        return pixels.reshape(side, side, -1).transpose(2, 0, 1)

    def _class(self, content: bytes) -> int:
        text = content.decode("ascii", errors="replace").strip()
        if not text.isdecimal() or int(text) >= self.settings.classes:
            raise ValueError(
                f".{_CLASS} is {text!r:.40}. Allowed: 0 to {self.settings.classes - 1}. Correct "
                "it, or set the hyperparameter classes."
            )
        return int(text)


def _part(sample: dict[str, Any], ending: str) -> bytes:
    """One file of a sample.

    Raises:
        ValueError: it has none of this ending.
    """
    if ending not in sample:
        given = ", ".join(f".{name}" for name in sample if not name.startswith("__"))
        raise ValueError(
            f"the sample has no .{ending} (it has: {given}). Write key.{_IMAGE} and key.{_CLASS} "
            "for each."
        )
    content: bytes = sample[ending]
    return content
