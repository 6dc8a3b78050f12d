"""Exact training on uneven shards.

Every rank takes the same number of steps, agreed on before the epoch. A rank that has run out of
records steps on a filler of weight 0. Losses are divided by the records of the update and gradients
added over the ranks: the gradient is that of one process that reads everything. Metrics are sums
and counts of float64, reduced once per epoch.
"""

import time
from collections.abc import Iterable, Iterator

from training.records import Batch, EpochPlan
from training.records.encoding import EncodedBatch, encode_ahead
from training.tensorflow.learner import Learner
from training.tensorflow.pace import Pace
from training.tensorflow.task import Inputs, TextTask
from training.trainer.data import closed
from training.trainer.keeping import Keeping
from training.trainer.report import Validation, check_validation
from training.trainer.updates import ends_update, records_of_update


def gradient_scale(plan: EpochPlan, step: int, together: int = 1) -> float:
    """What a rank's sum of losses is multiplied with before gradients are added over the ranks.

    Args:
        plan: the epoch's.
        step: of the epoch, from 0.
        together: steps that make an update.
    """
    return 1 / records_of_update(plan, step, together)


def train_epoch(
    learner: Learner,
    batches: Iterable[Batch],
    plan: EpochPlan,
    keeping: Keeping[float],
    pace: Pace,
) -> None:
    """Train on this rank's batches, in step with all other ranks.

    Args:
        learner: updated, and equal on all ranks after every step.
        batches: of this rank; as many as the plan says, or fewer than its steps.
        plan: the epoch's, equal on all ranks.
        keeping: is told of every step; may save, or end the training, between two updates.
        pace: is told of every step.

    Raises:
        RecordError: a record of this rank cannot be used.
        JobStoppedError, FloatingPointError, CheckpointError: on all ranks alike.
    """
    task, rank = learner.task, learner.ranks.rank
    together = learner.settings.gradient_accumulation_steps
    mine = encode_ahead(batches, task.encode_texts)
    pace.begin()
    with closed(mine, batches):
        for step in range(plan.steps):
            start_s = time.perf_counter()
            encoded = _next_batch(mine, plan.records_of_rank_in_step(rank, step))
            wait_s = time.perf_counter() - start_s
            inputs, batch = _inputs(encoded, task), encoded.batch if encoded is not None else None
            weight = 0.0 if encoded is None else 1.0
            is_whole = ends_update(plan, step, together)
            if is_whole:
                learner.rate.go_to(keeping.progress.step)
            act = learner.learn if is_whole else learner.prepare
            with learner.ranks.attendance.waiting(when=is_whole):
                loss = float(act(*inputs, weight, gradient_scale(plan, step, together)))
            pace.add(loss, plan.records_in_step(step), wait_s)
            if is_whole:
                pace.end_update()
                keeping.step_done(records_of_update(plan, step, together), loss, batch)
            else:
                keeping.part_done(loss, batch)
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
    check_validation(plan)
    task, rank = learner.task, learner.ranks.rank
    sums = [0.0, 0.0]  # loss, correct
    mine = encode_ahead(batches, task.encode_texts)
    with closed(mine, batches):
        for step in range(plan.steps):
            encoded = _next_batch(mine, plan.records_of_rank_in_step(rank, step))
            if encoded is not None:
                loss, correct = learner.measure(*_inputs(encoded, task)).numpy().tolist()
                sums = [sums[0] + loss, sums[1] + correct]
            keeping.batch_validated()
    loss, correct = learner.ranks.sum(sums)
    return Validation(loss=loss / plan.records, accuracy=correct / plan.records)


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
