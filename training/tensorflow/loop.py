"""Exact training on uneven shards.

Every rank takes the same number of steps, agreed on before the epoch. A rank that has run out of
records steps on a filler of weight 0. Losses are divided by the records of the step and gradients
added over the ranks: the gradient is that of one process that reads everything. Metrics are sums
and counts of float64, reduced once per epoch.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import tensorflow as tf

from training.records import Batch, EpochPlan
from training.records.encoding import EncodedBatch, encode_ahead
from training.tensorflow.ranks import Ranks
from training.tensorflow.task import Inputs, TextTask
from training.trainer.keeping import Keeping
from training.trainer.report import Validation


class Learner:
    """A model and its optimizer, the same on all ranks before and after each step."""

    def __init__(self, task: TextTask, ranks: Ranks, *, dtype: str, max_grad_norm: float) -> None:
        """Make a fresh model.

        Args:
            task: makes it and computes the losses.
            ranks: this process among all.
            dtype: of weights and gradients.
            max_grad_norm: of the exact gradient; 0: any.
        """
        self.task = task
        self.ranks = ranks
        self.model = task.build_model()
        self._optimizer = task.build_optimizer(self.model)
        self._optimizer.build(self.model.trainable_variables)
        self._max_grad_norm = max_grad_norm
        batch = [tf.TensorSpec([None, None], tf.int64), tf.TensorSpec([None], dtype)]
        number = tf.TensorSpec([], dtype)
        self.learn = tf.function(self._learn, input_signature=[*batch, number, number])
        """Updates the model; returns the sum of the losses before, float64.

        Takes n-grams, labels, the weight of each loss, and what their sum is multiplied with.
        """
        self.measure = tf.function(self._measure, input_signature=batch)
        """Takes n-grams and labels; returns the sum of the losses and of the right decisions."""

    @property
    def variables(self) -> list[Any]:
        """All that training changes: weights and what the optimizer remembers."""
        return [*self.model.weights, *self._optimizer.variables]

    def _learn(self, ngrams: Any, labels: Any, weight: Any, scale: Any) -> Any:  # noqa: ANN401 - TensorFlow has no types
        variables = [variable.value for variable in self.model.trainable_variables]
        with tf.GradientTape() as tape:
            losses = self.task.record_losses(self.model(ngrams, training=True), labels) * weight
            scaled = tf.reduce_sum(losses) * scale
        mine = [tf.convert_to_tensor(each) for each in tape.gradient(scaled, variables)]
        gradients = self.ranks.sum_tensors(mine)
        if self._max_grad_norm:
            # Not the optimizer's own: it would clip each rank's part before they are added.
            gradients, _ = tf.clip_by_global_norm(gradients, self._max_grad_norm)
        self._optimizer.apply(gradients, self.model.trainable_variables)
        return tf.reduce_sum(tf.cast(losses, tf.float64))

    def _measure(self, ngrams: Any, labels: Any) -> Any:  # noqa: ANN401 - TensorFlow has no types
        logits = self.model(ngrams, training=False)
        losses = self.task.record_losses(logits, labels)
        right = tf.equal(self.task.predict(logits), labels)
        return tf.stack([tf.reduce_sum(tf.cast(each, tf.float64)) for each in (losses, right)])


def gradient_scale(plan: EpochPlan, step: int) -> float:
    """What a rank's sum of losses is multiplied with before gradients are added over the ranks."""
    return 1 / plan.records_in_step(step)


def train_epoch(
    learner: Learner, batches: Iterable[Batch], plan: EpochPlan, keeping: Keeping[float]
) -> None:
    """Train on this rank's batches, in step with all other ranks.

    Args:
        learner: updated, and equal on all ranks after every step.
        batches: of this rank; as many as the plan says, or fewer than its steps.
        plan: the epoch's, equal on all ranks.
        keeping: is told of every step; may save, or end the training, between two.

    Raises:
        RecordError: a record of this rank cannot be used.
        JobStoppedError, FloatingPointError, CheckpointError: on all ranks alike.
    """
    task, rank = learner.task, learner.ranks.rank
    mine = encode_ahead(batches, task.encode_texts)
    for step in range(plan.steps):
        encoded = _next_batch(mine, plan.records_of_rank_in_step(rank, step))
        weight = 0.0 if encoded is None else 1.0
        inputs = _inputs(encoded, task)
        with learner.ranks.attendance.waiting():
            loss = float(learner.learn(*inputs, weight, gradient_scale(plan, step)))
        batch = encoded.batch if encoded is not None else None
        keeping.step_done(plan.records_in_step(step), loss, batch)
    keeping.trained()


def validate(
    learner: Learner, batches: Iterable[Batch], plan: EpochPlan, keeping: Keeping[float]
) -> Validation:
    """Measure a model on this rank's part of the validation records and add up over ranks.

    Args:
        learner: equal on all ranks.
        batches: of this rank; maybe none.
        plan: says how many batches each rank has.
        keeping: is told of every batch; may end the training between two.

    Raises:
        RecordError: a record of this rank cannot be used, or, on all ranks alike, there are none.
    """
    task, rank = learner.task, learner.ranks.rank
    sums = [0.0, 0.0, 0.0]  # loss, correct, records
    mine = encode_ahead(batches, task.encode_texts)
    for step in range(plan.steps):
        encoded = _next_batch(mine, plan.records_of_rank_in_step(rank, step))
        if encoded is not None:
            loss, correct = learner.measure(*_inputs(encoded, task)).numpy().tolist()
            sums = [sums[0] + loss, sums[1] + correct, sums[2] + len(encoded.batch)]
        keeping.batch_validated()
    return Validation.from_sums(*learner.ranks.sum(sums))


def _next_batch(batches: Iterator[EncodedBatch], planned_records: int) -> EncodedBatch | None:
    """The next batch; None when the plan has no records left.

    Raises:
        RuntimeError: the loader gives more or fewer records than it announced.
    """
    encoded = next(batches, None)
    given = len(encoded.batch) if encoded is not None else 0
    if given != planned_records:
        raise RuntimeError(f"{given} records in a step that was planned with {planned_records}")
    return encoded


def _inputs(encoded: EncodedBatch | None, task: TextTask) -> Inputs:
    """What the model takes: of a batch, or of a filler."""
    return task.filler() if encoded is None else task.make_inputs(encoded.ids, encoded.labels)
