"""The steps of an epoch, one after the other, whether or not the records were counted before.

Ranks that have not counted look some batches ahead and tell each other how many records those hold:
then all of them know the next steps exactly.
"""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from training.records.agreement import agree, meet
from training.records.batch import Batch
from training.records.epoch import RecordEpoch
from training.records.holdings import AllGather
from training.records.loader import RecordLoader

VOTE_STEPS = 32
"""Steps between two votes, and batches that a rank looks ahead."""


class Step(NamedTuple):
    """One step of all ranks together."""

    batch: Batch | None
    """This rank's records; None: it has none left, and steps with weight 0."""
    records: int
    """Of all ranks, 1 or more: what the sum of all losses is divided by."""


def steps_of_epoch(
    loader: RecordLoader, *, epoch: int, host_rank: int, all_gather: AllGather
) -> Iterator[Step]:
    """Take the steps of an epoch; every rank takes as many.

    Args:
        loader: This rank's.
        epoch: Counted from 0.
        host_rank: Number of this rank's host.
        all_gather: Called before the first step (see agree()) and, where records were not counted,
            before every 32nd one; equally often on all ranks.

    Raises:
        AgreementError, StateError: On all ranks alike, see agree().
        RecordError: A record of this rank is damaged.
    """
    if loader.settings.count:
        plan = agree(loader, epoch=epoch, host_rank=host_rank, all_gather=all_gather)
        batches = loader.epoch(epoch)
        for step in range(plan.steps):
            yield Step(next(batches, None), plan.records_in_step(step))
        batches.close()
    else:
        meet(loader, epoch=epoch, host_rank=host_rank, all_gather=all_gather)
        yield from _voted(loader, loader.epoch(epoch), all_gather)


def _voted(loader: RecordLoader, batches: RecordEpoch, all_gather: AllGather) -> Iterator[Step]:
    size, drop = loader.settings.batch_size, loader.settings.uneven == "drop"
    ahead = batches.ahead()
    while True:
        mine = list(islice(ahead, VOTE_STEPS))
        sizes = [len(batch) for batch in mine]
        said = all_gather(sizes + [0] * (VOTE_STEPS - len(sizes)))
        # Of every rank, step by step; a step that not all ranks can take in full ends "drop".
        for step, of_ranks in enumerate(zip(*said, strict=True)):
            if min(of_ranks) < size if drop else not any(of_ranks):
                batches.close()
                return
            batch = mine[step] if step < len(mine) else None
            if batch is not None:
                batches.hand_out(batch)
            yield Step(batch, sum(of_ranks))
