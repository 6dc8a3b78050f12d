"""The learning rate from update to update, as Keras' optimizers take it."""

from typing import Any

import keras
import tensorflow as tf

from training.contract.hyperparameters import TrainingHyperparameters
from training.trainer.updates import LearningRateFactor


class ExactRate(keras.optimizers.schedules.LearningRateSchedule):  # type: ignore[misc] # Keras has no types
    """A learning rate of 64 bits: Keras keeps a plain one in its process' type, float32."""

    def __init__(self, learning_rate: float) -> None:
        self._value = tf.Variable(learning_rate, dtype=tf.float64, trainable=False)

    def __call__(self, step: Any) -> Any:  # noqa: ANN401, ARG002 - TensorFlow has no types; set from outside
        """Tell the rate; in a graph."""
        return self._value.read_value()

    def set(self, learning_rate: float) -> None:
        """Let the next updates have another one."""
        self._value.assign(learning_rate)


class LearningRate:
    """The learning rate of every update."""

    def __init__(self, settings: TrainingHyperparameters, total_updates: int) -> None:
        """Begin with the first update.

        Args:
            settings: learning rate, schedule, warm-up.
            total_updates: of the whole training.
        """
        self._largest = settings.learning_rate
        self._factor = LearningRateFactor.of(settings, total_updates)
        self._now = self.of(0)
        self.of_optimizer = ExactRate(self._now)

    def of(self, update: int) -> float:
        """The rate of an update, counted from 0."""
        return self._largest * self._factor(update)

    def go_to(self, update: int) -> None:
        """Give the optimizer the rate of an update."""
        rate = self.of(update)
        if rate != self._now:
            self.of_optimizer.set(rate)
            self._now = rate
