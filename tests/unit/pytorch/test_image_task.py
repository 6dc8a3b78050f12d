from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.digits import as_png, digits, write_shard
from tests.unit.pytorch.batches import only_batch
from training.contract.hyperparameters import TrainingHyperparameters
from training.pytorch.task import new_model
from training.pytorch.tasks.image import ImageInputs, ImageTask
from training.records import RecordError


def image_task(**more: Any) -> ImageTask:  # noqa: ANN401 - of any field
    values = {"image_size": 8, "image_colors": "grey", "hidden_dim": 4, **more}
    return ImageTask(TrainingHyperparameters(task="image", **values))


def encoded(folder: Path, task: ImageTask, *samples: tuple[bytes, int]) -> ImageInputs:
    write_shard(folder / "a.tar", samples)
    return task.encode(only_batch(folder, task))


def test_pixels_and_classes_are_those_of_the_files(tmp_path: Path) -> None:
    pixels = np.arange(64, dtype=np.uint8).reshape(8, 8) * 4
    inputs = encoded(tmp_path, image_task(dtype="float64"), (as_png(pixels), 7), digits()[0])
    assert inputs.pixels.shape == (2, 1, 8, 8)
    assert inputs.pixels.dtype == torch.float64
    assert torch.allclose(inputs.pixels[0, 0], torch.from_numpy(pixels / 127.5 - 1), atol=1e-12)
    assert inputs.labels.tolist() == [7, digits()[0][1]]


def test_images_are_brought_to_one_size_and_colors(tmp_path: Path) -> None:
    red = np.zeros((5, 9, 3), np.uint8)
    red[..., 0] = 255
    grey = np.full((16, 16), 255, np.uint8)
    inputs = encoded(
        tmp_path, image_task(image_size=4, image_colors="rgb"), (as_png(red), 0), (as_png(grey), 1)
    )
    assert inputs.pixels.shape == (2, 3, 4, 4)
    assert inputs.pixels[0].mean(dim=(1, 2)).tolist() == [1, -1, -1]
    assert (inputs.pixels[1] == 1).all()


@pytest.mark.parametrize("colors", ["grey", "rgb"])
def test_logits_and_losses(tmp_path: Path, colors: str) -> None:
    task = image_task(image_colors=colors, classes=11)
    inputs = encoded(tmp_path, task, *digits()[:5])
    logits = new_model(task)(inputs)
    losses = task.record_losses(logits, inputs)
    assert logits.shape == (5, 11)
    assert losses.shape == task.predict(logits).shape == task.targets(inputs).shape == (5,)
    wanted = [-row.log_softmax(0)[label] for row, label in zip(logits, inputs.labels, strict=True)]
    assert torch.allclose(losses, torch.stack(wanted))


@pytest.mark.parametrize(
    ("image", "label", "message"),
    [
        (b"", 0, ".png is no whole PNG image"),
        (b"GIF89a", 0, ".png is no whole PNG image"),
        (digits()[0][0][:60], 0, ".png is no whole PNG image"),
        (digits()[0][0], 10, ".cls is '10'. Allowed: 0 to 9."),
        (digits()[0][0], -1, ".cls is '-1'. Allowed: 0 to 9."),
    ],
)
def test_a_bad_sample_is_located(tmp_path: Path, image: bytes, label: int, message: str) -> None:
    with pytest.raises(RecordError) as caught:
        encoded(tmp_path, image_task(), digits()[1], (image, label))
    assert str(caught.value).startswith("a.tar, sample 00001: ")
    assert message in str(caught.value)


def test_a_sample_without_a_class_is_located(tmp_path: Path) -> None:
    write_shard(tmp_path / "a.tar", digits()[:2])
    task = image_task()
    batch = only_batch(tmp_path, task)
    batch.records[1]["txt"] = batch.records[1].pop("cls")
    with pytest.raises(RecordError, match=r"sample 00001: the sample has no \.cls \(it has: \.png"):
        task.encode(batch)
