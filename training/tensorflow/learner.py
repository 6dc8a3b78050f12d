"""A model in training, as one rank holds it."""

from typing import Any

import tensorflow as tf

from training.contract.hyperparameters import TrainingHyperparameters
from training.tensorflow.precision import LossScale, all_finite, product_policy
from training.tensorflow.ranks import Ranks
from training.tensorflow.schedule import LearningRate
from training.tensorflow.task import TextTask


class Learner:
    """A model and its optimizer, the same on all ranks before and after each update."""

    def __init__(
        self,
        task: TextTask,
        ranks: Ranks,
        settings: TrainingHyperparameters,
        *,
        total_updates: int,
    ) -> None:
        """Make a fresh model.

        Args:
            task: makes it and computes the losses.
            ranks: this process among all.
            settings: say how it is trained.
            total_updates: of the whole training, for the schedule.
        """
        self.task = task
        self.ranks = ranks
        self.settings = settings
        self.model = task.build_model()
        self.rate = LearningRate(settings, total_updates)
        self._optimizer = task.build_optimizer(self.model, self.rate.of_optimizer)
        self._loss_scale = LossScale() if product_policy(settings) == "mixed_float16" else None
        # What the batches before the last one of an update have given.
        self._pending = [
            tf.Variable(tf.zeros_like(variable.value), trainable=False)
            for variable in self.model.trainable_variables
            if settings.gradient_accumulation_steps > 1
        ]
        self._make_graphs(settings)

    def _make_graphs(self, settings: TrainingHyperparameters) -> None:
        number = tf.TensorSpec([], settings.dtype)
        batch = [tf.TensorSpec([None, None], tf.int64), tf.TensorSpec([None], settings.dtype)]
        weighted = [*batch, number, number]
        # Only what a rank computes by itself: XLA knows nothing of the other ranks.
        self._gradients = tf.function(
            self._own_gradients, input_signature=weighted, jit_compile=settings.compile
        )
        self.learn = tf.function(self._learn, input_signature=weighted)
        """Ends an update of the model; returns the sum of the losses before it, float64.

        Takes n-grams, labels, the weight of each loss, and what their sum is multiplied with.
        """
        self.prepare = tf.function(self._prepare, input_signature=weighted)
        """The same for a batch that others of the same update follow: the model stays as it is."""
        self.measure = tf.function(
            self._measure, input_signature=batch, jit_compile=settings.compile
        )
        """Takes n-grams and labels; returns the sum of the losses and of the right decisions."""

    @property
    def variables(self) -> list[Any]:
        """All that training changes between two updates: weights, what the optimizer remembers."""
        scale = [] if self._loss_scale is None else self._loss_scale.variables
        return [*self.model.weights, *self._optimizer.variables, *scale]

    def _own_gradients(self, ngrams: Any, labels: Any, weight: Any, scale: Any) -> Any:  # noqa: ANN401 - TensorFlow has no types
        variables = [variable.value for variable in self.model.trainable_variables]
        with tf.GradientTape() as tape:
            losses = self.task.record_losses(self.model(ngrams, training=True), labels) * weight
            scaled = tf.reduce_sum(losses) * scale
        gradients = [tf.convert_to_tensor(each) for each in tape.gradient(scaled, variables)]
        return tf.reduce_sum(tf.cast(losses, tf.float64)), gradients

    def _scaled(self, scale: Any) -> Any:  # noqa: ANN401 - TensorFlow has no types
        return scale if self._loss_scale is None else scale * self._loss_scale.factor

    def _prepare(self, ngrams: Any, labels: Any, weight: Any, scale: Any) -> Any:  # noqa: ANN401 - the same
        loss, gradients = self._gradients(ngrams, labels, weight, self._scaled(scale))
        for pending, gradient in zip(self._pending, gradients, strict=True):
            pending.assign_add(gradient)
        return loss

    def _learn(self, ngrams: Any, labels: Any, weight: Any, scale: Any) -> Any:  # noqa: ANN401 - the same
        loss, mine = self._gradients(ngrams, labels, weight, self._scaled(scale))
        if self._pending:
            mine = [one + pending for one, pending in zip(mine, self._pending, strict=True)]
        gradients = self.ranks.sum_tensors(mine)
        for pending in self._pending:
            pending.assign(tf.zeros_like(pending))
        if self._loss_scale is None:
            self._apply(gradients)
            return loss
        is_finite = all_finite(gradients)
        gradients = self._loss_scale.unscaled(gradients)
        tf.cond(is_finite, lambda: self._apply(gradients), lambda: False)
        self._loss_scale.take_note(is_finite)
        return loss

    def _apply(self, gradients: list[Any]) -> bool:
        if self.settings.max_grad_norm:
            # Not the optimizer's own: it would clip each rank's part before they are added.
            gradients, _ = tf.clip_by_global_norm(gradients, self.settings.max_grad_norm)
        self._optimizer.apply(gradients, self.model.trainable_variables)
        return True

    def _measure(self, ngrams: Any, labels: Any) -> Any:  # noqa: ANN401 - TensorFlow has no types
        logits = self.model(ngrams, training=False)
        losses = self.task.record_losses(logits, labels)
        right = tf.equal(self.task.predict(logits), labels)
        return tf.stack([tf.reduce_sum(tf.cast(each, tf.float64)) for each in (losses, right)])
