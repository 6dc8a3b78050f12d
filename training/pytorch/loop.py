"""Exact training on uneven shards.

Every rank takes the same number of steps, agreed on before the epoch. A rank that has run out of
records steps on a filler of weight 0, and the loss is scaled so that DDP's mean over ranks becomes
the mean over the records of the step: the gradient is that of one process that reads everything.
Metrics are sums and counts, reduced once per epoch.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Optimizer

from training.pytorch.ranks import Ranks
from training.pytorch.task import Inputs, TextTask
from training.records import Batch, EpochPlan, RecordError
from training.records.encoding import EncodedBatch, encode_ahead


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """How good a model is on records it was not trained on."""

    loss: float
    """Mean over the records of all ranks."""
    accuracy: float
    """The part of the records that is decided as labelled, 0..1."""


def gradient_scale(plan: EpochPlan, step: int, world_size: int) -> float:
    """What a rank's sum of losses is multiplied with before DDP takes the mean over ranks.

    mean over ranks of (sum * world_size / records in the step) = sum over all records / records
    """
    return world_size / plan.records_in_step(step)


def train_epoch(
    model: DistributedDataParallel,
    optimizer: Optimizer,
    task: TextTask,
    batches: Iterable[Batch],
    plan: EpochPlan,
    ranks: Ranks,
) -> float:
    """Train on this rank's batches, in step with all other ranks.

    Args:
        model: updated, and equal on all ranks after every step.
        optimizer: of the model's parameters.
        task: encodes records and computes their losses.
        batches: of this rank; as many as the plan says, or fewer than its steps.
        plan: the epoch's, equal on all ranks.
        ranks: this process among all.

    Returns:
        The mean loss over the epoch's records of all ranks, each taken before its step.

    Raises:
        RecordError: a record of this rank cannot be used.
    """
    model.train()  # type: ignore[no-untyped-call] # torch leaves DDP's without annotations
    mine = encode_ahead(batches, task.encode_texts)
    loss_sum = torch.zeros((), dtype=torch.float64, device=ranks.device)
    for step in range(plan.steps):
        inputs, weight = _next_inputs(mine, task, plan.records_of_rank_in_step(ranks.rank, step))
        inputs = inputs.to(ranks.device)
        losses = task.record_losses(model(inputs), inputs) * weight
        optimizer.zero_grad()
        scaled = losses.sum() * gradient_scale(plan, step, ranks.world_size)
        scaled.backward()  # type: ignore[no-untyped-call] # torch leaves it without annotations
        optimizer.step()
        loss_sum += losses.detach().sum()
    (total,) = ranks.sum(loss_sum.reshape(1))
    return total / plan.records


@torch.no_grad()
def validate(
    model: nn.Module, task: TextTask, batches: Iterable[Batch], ranks: Ranks
) -> Validation:
    """Measure a model on this rank's part of the validation records and add up over ranks.

    Args:
        model: equal on all ranks; not wrapped in DDP, for the ranks may hold unequal parts.
        task: encodes records and computes their losses.
        batches: of this rank; maybe none.
        ranks: this process among all.

    Raises:
        RecordError: a record of this rank cannot be used, or, on all ranks alike, there are none.
    """
    model.eval()
    sums = torch.zeros(3, dtype=torch.float64, device=ranks.device)  # loss, correct, records
    for batch, ngrams, labels in encode_ahead(batches, task.encode_texts):
        inputs = task.make_inputs(ngrams, labels).to(ranks.device)
        logits = model(inputs)
        sums[0] += task.record_losses(logits, inputs).sum()
        sums[1] += (task.predict(logits) == inputs.labels).sum()
        sums[2] += len(batch)
    loss, correct, records = ranks.sum(sums)
    if records == 0:
        raise RecordError(
            "The validation channel holds no records, so nobody could tell whether the training "
            "works. Put at least one record under ValidationDataUri."
        )
    return Validation(loss=loss / records, accuracy=correct / records)


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
