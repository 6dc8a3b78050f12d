"""Exact training on uneven shards.

Every rank takes the same number of steps, agreed on before the epoch. A rank that has run out of
records steps on a filler of weight 0, and the loss is scaled so that the mean over ranks becomes
the mean over the records of the update: the gradient is that of one process that reads everything.
Metrics are sums and counts, reduced once per epoch.
"""

from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.fsdp import FSDPModule
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR

from training.pytorch.batch_norm import Statistics
from training.pytorch.pace import Pace
from training.pytorch.parallelism import gradients, parallel
from training.pytorch.precision import Precision
from training.pytorch.ranks import Ranks
from training.pytorch.schedule import make_schedule, rate_of
from training.pytorch.steps import planned_steps
from training.pytorch.task import Task, new_model
from training.records import Batch, EpochPlan
from training.steps.quality import Quality
from training.trainer.keeping import Keeping
from training.trainer.report import check_validation


@dataclass(frozen=True, slots=True, kw_only=True)
class Learner:
    """A model in training, as one rank holds it."""

    task: Task[Any]
    model: nn.Module
    """Equal on all ranks after every update, but for statistics, which are after every epoch. With
    fsdp a rank holds shards of the weights."""
    replica: nn.Module
    """What to call to train it: takes the mean of the ranks' gradients while it goes backward."""
    optimizer: Optimizer
    schedule: LambdaLR
    precision: Precision
    statistics: Statistics

    @classmethod
    def new(cls, task: Task[Any], ranks: Ranks, *, total_updates: int) -> "Learner":
        """Make a model with fresh weights and what trains it."""
        model = new_model(task).to(ranks.device)
        statistics = Statistics(model)
        with ranks.attendance.waiting():
            replica = parallel(model, task.settings, ranks)
        optimizer = task.build_optimizer(model)
        return cls(
            task=task,
            model=model,
            replica=replica,
            optimizer=optimizer,
            schedule=make_schedule(task.settings, optimizer, total_updates),
            precision=Precision(task.settings, ranks.device),
            statistics=statistics,
        )

    @property
    def is_sharded(self) -> bool:
        """Whether ranks hold shards of the model, so that they meet wherever it is used."""
        return isinstance(self.model, FSDPModule)

    @property
    def updates(self) -> int:
        """Updates done since the training began."""
        return self.schedule.last_epoch

    @property
    def learning_rate(self) -> float:
        """Of the next update."""
        return self.rate_of(self.updates)

    def rate_of(self, update: int) -> float:
        """The learning rate of an update, counted from 0."""
        return rate_of(self.schedule, update)

    def update(self) -> None:
        """Take an optimizer's step with the gradients, and forget them."""
        self.precision.update(self.model, self.optimizer, self.task.settings.max_grad_norm)
        self.schedule.step()
        self.optimizer.zero_grad()


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """How good a model is on records it was not trained on."""

    loss: float
    """Mean over the records of all ranks."""
    quality: Quality
    """Of the same records."""


def train_epoch(
    learner: Learner,
    batches: Iterable[Batch],
    plan: EpochPlan,
    ranks: Ranks,
    keeping: Keeping[Tensor],
    pace: Pace,
) -> None:
    """Train on this rank's batches, in step with all other ranks.

    Args:
        learner: its model is updated.
        batches: of this rank; as many as the plan says, or fewer than its steps.
        plan: the epoch's, equal on all ranks.
        ranks: this process among all.
        keeping: is told of every step; may save, or end the training, between two updates.
        pace: is told of every step.

    Raises:
        RecordError: a record of this rank cannot be used.
        JobStoppedError, FloatingPointError, CheckpointError: on all ranks alike.
    """
    task, waiting, is_sharded = learner.task, ranks.attendance.waiting, learner.is_sharded
    learner.replica.train()
    pace.begin()
    with closing(planned_steps(task, batches, plan, ranks)) as steps:
        for step in steps:
            with gradients(learner.replica, averaged=step.ends_update):
                # One record has no variance.
                with (
                    learner.statistics.kept(when=step.own_records <= 1),
                    learner.precision.autocast(),
                    waiting(when=is_sharded),
                ):
                    outputs = learner.replica(step.inputs)
                    losses = task.record_losses(outputs, step.inputs).to(task.dtype)
                    if step.is_filler:
                        losses = losses * 0.0
                total = losses.sum()
                with waiting(when=is_sharded or step.ends_update):
                    # The mean over ranks of (sum * ranks / records) is the sum over all / records.
                    learner.precision.backward(total, ranks.world_size / step.update_records)
            loss = total.detach()
            pace.add(loss, step.records, step.wait_s)
            if step.ends_update:
                with waiting(when=is_sharded):
                    learner.update()
                pace.end_update()
                keeping.step_done(step.update_records, loss, step.batch)
            else:
                keeping.part_done(loss, step.batch)
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
    check_validation(plan)
    task = learner.task
    learner.model.eval()
    loss_sum = torch.zeros(1, dtype=torch.float64, device=ranks.device)
    sums = torch.zeros(task.measure.size, dtype=torch.float64, device=ranks.device)
    with closing(planned_steps(task, batches, plan, ranks)) as steps:
        for step in steps:
            with learner.precision.autocast(), ranks.attendance.waiting(when=learner.is_sharded):
                outputs = learner.model(step.inputs)
                losses = task.record_losses(outputs, step.inputs)
            if not step.is_filler:
                loss_sum += losses.sum(dtype=torch.float64)
                sums += task.measure.sums(task.predict(outputs), task.targets(step.inputs))
            keeping.batch_validated()
    loss, *totals = ranks.sum(torch.cat([loss_sum, sums]))
    return Validation(loss=loss / plan.records, quality=task.measure.quality(totals))
