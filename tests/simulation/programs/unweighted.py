"""The trainer with its weighting taken out: every rank's mean counts alike, as DDP has it."""

from collections.abc import Iterable, Iterator
from typing import Any
from unittest import mock

from training.pytorch import loop, train
from training.pytorch.ranks import Ranks
from training.pytorch.steps import Step, planned_steps
from training.pytorch.task import Task
from training.records import Batch, EpochPlan


def count_own_records(
    task: Task[Any], batches: Iterable[Batch], plan: EpochPlan, ranks: Ranks
) -> Iterator[Step[Any]]:
    for number, step in enumerate(planned_steps(task, batches, plan, ranks)):
        own = plan.records_of_rank_in_step(ranks.rank, number)
        yield step._replace(update_records=max(own, 1) * ranks.world_size)


with mock.patch.object(loop, "planned_steps", count_own_records):
    train.main()
