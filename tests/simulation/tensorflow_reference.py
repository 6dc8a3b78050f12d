"""What the TensorFlow trainer's weights are compared with: one process that reads everything.

It shares no code with training/tensorflow/loop.py: no scale, no filler, no reduction. It takes from
the trainer the model, its optimizer and the encoding of records, and from `training.records` which
records are in each rank's step.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tests.simulation.launched import Host
from training.contract.hyperparameters import TrainingHyperparameters
from training.records import LoaderSettings, RecordLoader, find_shards
from training.tensorflow.task import Inputs, TextTask
from training.tensorflow.vocabulary import Vocabulary


@dataclass(frozen=True)
class Reference:
    """What one process gets that reads the union of all ranks' batches."""

    fresh: list[Any]
    """Weights before the training."""
    weights: list[Any]
    losses: list[float]
    """Mean over the records of each epoch."""
    validation: tuple[float, float]
    """Loss and accuracy after the last epoch."""
    clipped_steps: int


def train_alone(
    hosts: Sequence[Host],
    words: Sequence[str],
    settings: TrainingHyperparameters,
    *,
    devices_per_host: int,
) -> Reference:
    """Train on what the hosts of a job read, step by step as they read it."""
    task = TextTask(settings, Vocabulary(tuple(words)))
    model = task.build_model()
    fresh = [variable.numpy() for variable in model.weights]
    optimizer = task.build_optimizer(model)
    losses, clipped = [], 0
    for epoch in range(settings.epochs):
        loss_sum, records = 0.0, 0
        loaders = _loaders(hosts, settings, devices_per_host)
        for inputs in _union_batches(loaders, task, epoch):
            loss, gradients = _gradients(model, inputs)
            norm = np.sqrt(sum((each**2).sum() for each in gradients))
            if norm > settings.max_grad_norm:
                gradients = [each * (settings.max_grad_norm / norm) for each in gradients]
                clipped += 1
            optimizer.apply([tf.constant(each) for each in gradients], model.trainable_variables)
            loss_sum += loss * len(inputs.labels)
            records += len(inputs.labels)
        losses.append(loss_sum / records)
    return Reference(
        fresh=fresh,
        weights=[variable.numpy() for variable in model.weights],
        losses=losses,
        validation=_measure(hosts[0], task, model),
        clipped_steps=clipped,
    )


def _loaders(
    hosts: Sequence[Host], settings: TrainingHyperparameters, devices_per_host: int
) -> list[RecordLoader]:
    """One per rank."""
    return [
        RecordLoader(
            find_shards(host.base_dir / "input" / "data" / "train"),
            settings=LoaderSettings(batch_size=settings.batch_size, seed=settings.seed),
            part=part,
            parts=devices_per_host,
        )
        for host in hosts
        for part in range(devices_per_host)
    ]


def _union_batches(loaders: Sequence[RecordLoader], task: TextTask, epoch: int) -> Iterator[Inputs]:
    """For each step, the records of all ranks as one batch."""
    for batches in itertools.zip_longest(*(loader.epoch(epoch) for loader in loaders)):
        parts = [task.encode(batch) for batch in batches if batch is not None]
        width = max(part.ngrams.shape[1] for part in parts)
        padded = [np.pad(p.ngrams, ((0, 0), (0, width - p.ngrams.shape[1]))) for p in parts]
        yield Inputs(np.concatenate(padded), np.concatenate([part.labels for part in parts]))


def _gradients(model: keras.Model, inputs: Inputs) -> tuple[float, list[Any]]:
    with tf.GradientTape() as tape:
        loss = _mean_loss(model, inputs)
    found = tape.gradient(loss, [variable.value for variable in model.trainable_variables])
    return float(loss), [tf.convert_to_tensor(each).numpy() for each in found]


def _mean_loss(model: keras.Model, inputs: Inputs) -> Any:  # noqa: ANN401 - TensorFlow has no types
    return keras.losses.binary_crossentropy(
        inputs.labels[np.newaxis], model(inputs.ngrams)[tf.newaxis], from_logits=True
    )[0]


def _measure(host: Host, task: TextTask, model: keras.Model) -> tuple[float, float]:
    """Loss and accuracy over all of the validation set."""
    loader = RecordLoader(
        find_shards(host.base_dir / "input" / "data" / "validation"),
        settings=LoaderSettings(batch_size=11, seed=0, shuffle=False),
        part=0,
        parts=1,
    )
    (batch,) = loader.epoch(0)
    inputs = task.encode(batch)
    right = (model(inputs.ngrams).numpy() > 0) == (inputs.labels > 0)
    return float(_mean_loss(model, inputs)), float(right.mean())
