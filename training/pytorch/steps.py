"""What every rank does in every step of an epoch: train on a batch, or keep the others company.

A rank that has run out of records steps on a batch that counts for nothing: its own last one, or
one borrowed from another rank if it has had none. So no task needs to know what an empty batch is.
"""

import time
from collections.abc import Generator, Iterable, Iterator
from typing import Generic, NamedTuple

from training.pytorch.ranks import Ranks
from training.pytorch.task import Encoded, InputsT, Task, to_device
from training.records import Batch, EpochPlan
from training.trainer.data import closed
from training.trainer.updates import ends_update, records_of_update


class Step(NamedTuple, Generic[InputsT]):
    """One step of one rank. A tuple: it takes a fraction of the time to make."""

    inputs: InputsT
    """On the rank's device."""
    batch: Batch | None
    """What the inputs were made of; None: this rank has run out of records."""
    own_records: int
    """Of this rank; 0 when it has run out of them: then the inputs must have no effect."""
    records: int
    """Of all ranks in this step, 1 or more."""
    update_records: int
    """Of all ranks in the steps that make one update, this one among them."""
    ends_update: bool
    """Whether the gradients are whole after this step."""
    wait_s: float
    """Seconds that this rank waited for its batch."""

    @property
    def is_filler(self) -> bool:
        """Whether the inputs must have no effect."""
        return self.own_records == 0


def planned_steps(
    task: Task[InputsT], batches: Iterable[Batch], plan: EpochPlan, ranks: Ranks
) -> Generator[Step[InputsT], None, None]:
    """Take the steps of an epoch; all ranks must, and each takes the same number.

    `gradient_accumulation_steps` of them make one update; the epoch's last may be made of fewer.

    Args:
        task: encodes the records.
        batches: of this rank; as many as the plan says, or fewer than its steps.
        plan: the epoch's, equal on all ranks.
        ranks: this process among all.

    Raises:
        RecordError: a record of this rank cannot be used.
        RuntimeError: the loader gives more or fewer records than it announced.
    """
    encoded = task.encode_ahead(batches)
    with closed(encoded, batches):
        yield from _steps(task, encoded, plan, ranks)


def _steps(
    task: Task[InputsT], encoded: Iterator[Encoded[InputsT]], plan: EpochPlan, ranks: Ranks
) -> Iterator[Step[InputsT]]:
    together = task.settings.gradient_accumulation_steps
    spare: InputsT | None = None
    update_records = 0
    for number in range(plan.steps):
        if number % together == 0:
            update_records = records_of_update(plan, number, together)
        start_s = time.perf_counter()
        own = next(encoded, None)
        wait_s = time.perf_counter() - start_s
        own_records = len(own.batch) if own is not None else 0
        _check(own_records, plan, ranks.rank, number)
        if own is not None:
            spare = to_device(own.inputs, ranks.device)
        if number == 0 and min(plan.counts) == 0:
            # As it lies in memory: the borrowers may have other devices than the lender.
            lent = _lend(own.inputs if own is not None else None, plan, ranks)
            spare = to_device(lent, ranks.device) if spare is None else spare
        if spare is None:
            raise AssertionError("a rank without records has borrowed none")
        yield Step(
            inputs=spare,
            batch=own.batch if own is not None else None,
            own_records=own_records,
            records=update_records if together == 1 else plan.records_in_step(number),
            update_records=update_records,
            ends_update=ends_update(plan, number, together),
            wait_s=wait_s,
        )


def _check(given: int, plan: EpochPlan, rank: int, number: int) -> None:
    planned = plan.records_of_rank_in_step(rank, number)
    if given != planned:
        raise RuntimeError(f"{given} records in a step that was planned with {planned}")


def _lend(inputs: InputsT | None, plan: EpochPlan, ranks: Ranks) -> InputsT:
    """Give every rank that has no batch of its own that of the rank with the most records."""
    lender = plan.counts.index(max(plan.counts))
    lent: InputsT = ranks.broadcast(inputs, lender)
    return lent
