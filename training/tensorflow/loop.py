"""Exact training on uneven shards.

Every rank takes the same number of steps, agreed on before the epoch. A rank that has run out of
records steps on a filler of weight 0. Losses are divided by the records of the step and gradients
added over the ranks: the gradient is that of one process that reads everything. Metrics are sums
and counts of float64, reduced once per epoch.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import tensorflow as tf

from training.records import Batch, EpochPlan
from training.records.encoding import EncodedBatch, encode_ahead
from training.tensorflow.ranks import Ranks
from training.tensorflow.task import Inputs, TextTask
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
        self._max_grad_norm = max_grad_norm
        batch = [tf.TensorSpec([None, None], tf.int64), tf.TensorSpec([None], dtype)]
        number = tf.TensorSpec([], dtype)
        self.learn = tf.function(self._learn, input_signature=[*batch, number, number])
        """Updates the model; returns the sum of the losses before, float64.

        Takes n-grams, labels, the weight of each loss, and what their sum is multiplied with.
        """
        self.measure = tf.function(self._measure, input_signature=batch)
        """Takes n-grams and labels; returns the sum of the losses and of the right decisions."""

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
    learner: Learner,
    batches: Iterable[Batch],
    plan: EpochPlan,
    after_step: Callable[[], None] = lambda: None,
) -> float:
    """Train on this rank's batches, in step with all other ranks.

    Args:
        learner: updated, and equal on all ranks after every step.
        batches: of this rank; as many as the plan says, or fewer than its steps.
        plan: the epoch's, equal on all ranks.
        after_step: called after every step.

    Returns:
        The mean loss over the epoch's records of all ranks, each taken before its step.

    Raises:
        RecordError: a record of this rank cannot be used.
    """
    task, ranks = learner.task, learner.ranks
    mine = encode_ahead(batches, task.encode_texts)
    loss_sum = 0.0
    for step in range(plan.steps):
        inputs, weight = _next_inputs(mine, task, plan.records_of_rank_in_step(ranks.rank, step))
        loss_sum += float(learner.learn(*inputs, weight, gradient_scale(plan, step)))
        after_step()
    (total,) = ranks.sum([loss_sum])
    return total / plan.records


def validate(learner: Learner, batches: Iterable[Batch]) -> Validation:
    """Measure a model on this rank's part of the validation records and add up over ranks.

    Args:
        learner: equal on all ranks.
        batches: of this rank; maybe none.

    Raises:
        RecordError: a record of this rank cannot be used, or, on all ranks alike, there are none.
    """
    task = learner.task
    sums = [0.0, 0.0, 0.0]  # loss, correct, records
    for batch, ngrams, labels in encode_ahead(batches, task.encode_texts):
        loss, correct = learner.measure(*task.make_inputs(ngrams, labels)).numpy().tolist()
        sums = [sums[0] + loss, sums[1] + correct, sums[2] + len(batch)]
    return Validation.from_sums(*learner.ranks.sum(sums))


def _next_inputs(
    batches: Iterator[EncodedBatch], task: TextTask, planned_records: int
) -> tuple[Inputs, float]:
    """The next batch and weight 1, or a filler and weight 0 when the plan has no records left.

    Raises:
        RuntimeError: the loader gives more or fewer records than it announced.
    """
    encoded = next(batches, None)
    given = len(encoded.batch) if encoded is not None else 0
    if given != planned_records:
        raise RuntimeError(f"{given} records in a step that was planned with {planned_records}")
    if encoded is None:
        return task.filler(), 0.0
    return task.make_inputs(encoded.ids, encoded.labels), 1.0
