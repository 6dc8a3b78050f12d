"""Exact training on uneven shards.

Every rank takes the same number of steps, agreed on before the epoch. A rank that has run out of
records steps on a filler of weight 0, and the loss is scaled so that DDP's mean over ranks becomes
the mean over the records of the step: the gradient is that of one process that reads everything.
Metrics are sums and counts, reduced once per epoch.
"""

from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Optimizer

from training.pytorch.batch_norm import Statistics
from training.pytorch.ranks import Ranks
from training.pytorch.steps import planned_steps
from training.pytorch.task import Task, new_model
from training.records import Batch, EpochPlan, RecordError
from training.steps.quality import Quality
from training.trainer.keeping import Keeping


@dataclass(frozen=True, slots=True, kw_only=True)
class Learner:
    """A model in training, as one rank holds it."""

    task: Task[Any]
    model: nn.Module
    """Equal on all ranks after every step, but for statistics, which are after every epoch."""
    replica: nn.Module
    """The same model, which takes the mean of the ranks' gradients while it goes backward."""
    optimizer: Optimizer
    statistics: Statistics

    @classmethod
    def new(cls, task: Task[Any], ranks: Ranks) -> "Learner":
        """Make a model with fresh weights and what trains it."""
        model = new_model(task).to(ranks.device)
        # Buffers stay with their ranks: see Statistics.
        replica = DistributedDataParallel(model, forward_sync_buffers=False)
        if ranks.device.type == "cpu":
            _fix_buckets(replica)
        return cls(
            task=task,
            model=model,
            replica=replica,
            optimizer=task.build_optimizer(model),
            statistics=Statistics(model),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """How good a model is on records it was not trained on."""

    loss: float
    """Mean over the records of all ranks."""
    quality: Quality
    """Of the same records."""


def _fix_buckets(replica: DistributedDataParallel) -> None:
    """Have DDP lay its buckets out now, once and for all.

    By itself it does so after two steps, by the order in which gradients came, and from then on
    ranks are added up in another order: the steps after a resumption would differ in the last bit
    from those of a training that was not interrupted. On GPUs the order of arrival lets sending
    and computing overlap, and sums differ in the last bit anyway.
    """
    replica.reducer._push_all_rebuilt_params()  # noqa: SLF001 - no public name, but its interface
    replica.reducer._rebuild_buckets()  # noqa: SLF001 - the same


def train_epoch(
    learner: Learner,
    batches: Iterable[Batch],
    plan: EpochPlan,
    ranks: Ranks,
    keeping: Keeping[Tensor],
) -> None:
    """Train on this rank's batches, in step with all other ranks.

    Args:
        learner: its model is updated.
        batches: of this rank; as many as the plan says, or fewer than its steps.
        plan: the epoch's, equal on all ranks.
        ranks: this process among all.
        keeping: is told of every step; may save, or end the training, between two.

    Raises:
        RecordError: a record of this rank cannot be used.
        JobStoppedError, FloatingPointError, CheckpointError: on all ranks alike.
    """
    task, optimizer = learner.task, learner.optimizer
    learner.replica.train()
    with closing(planned_steps(task, batches, plan, ranks)) as steps:
        for step in steps:
            # One record has no variance.
            with learner.statistics.kept(when=step.own_records <= 1):
                outputs = learner.replica(step.inputs)
            losses = task.record_losses(outputs, step.inputs) * (0.0 if step.is_filler else 1.0)
            optimizer.zero_grad()
            # DDP's mean over ranks of (sum * ranks / records) is the sum over all / records.
            loss = losses.sum() * (ranks.world_size / step.records)
            loss.backward()  # type: ignore[no-untyped-call] # torch leaves it without annotations
            optimizer.step()
            keeping.step_done(step.records, losses.detach().sum(), step.batch)
    learner.statistics.share(keeping.records_per_rank(plan), ranks)
    keeping.trained()


@torch.no_grad()
def validate(
    learner: Learner,
    batches: Iterable[Batch],
    plan: EpochPlan,
    ranks: Ranks,
    keeping: Keeping[Tensor],
) -> Validation:
    """Measure a model on this rank's part of the validation records and add up over ranks.

    Args:
        learner: its model is equal on all ranks.
        batches: of this rank; maybe none.
        plan: says how many batches each rank has.
        ranks: this process among all.
        keeping: is told of every batch; may end the training between two.

    Raises:
        RecordError: a record of this rank cannot be used, or, on all ranks alike, there are none.
    """
    if plan.records == 0:
        raise RecordError(
            "The validation channel holds no records, so nobody could tell whether the training "
            "works. Put at least one record under ValidationDataUri."
        )
    task = learner.task
    learner.model.eval()
    loss_sum = torch.zeros(1, dtype=torch.float64, device=ranks.device)
    sums = torch.zeros(task.measure.size, dtype=torch.float64, device=ranks.device)
    with closing(planned_steps(task, batches, plan, ranks)) as steps:
        for step in steps:
            outputs = learner.model(step.inputs)
            if not step.is_filler:
                loss_sum += task.record_losses(outputs, step.inputs).sum()
                sums += task.measure.sums(task.predict(outputs), task.targets(step.inputs))
            keeping.batch_validated()
    loss, *totals = ranks.sum(torch.cat([loss_sum, sums]))
    return Validation(loss=loss / plan.records, quality=task.measure.quality(totals))
