"""The records of a job, one loader per channel, and the refusal of an epoch without steps."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from training.contract.cluster import Cluster
from training.contract.hyperparameters import TrainingHyperparameters
from training.contract.layout import TRAIN_CHANNEL, VALIDATION_CHANNEL
from training.contract.paths import ContainerPaths
from training.records import (
    EpochPlan,
    LoaderSettings,
    RecordError,
    RecordLoader,
    Shard,
    SharedCounting,
    find_shards,
)
from training.records.encoding import example_output
from training.trainer.ranks import JobRanks

Adapt = Callable[[LoaderSettings, Sequence[Shard]], LoaderSettings]
"""What a task makes of how records are read, given the shards that a host holds."""


def read_examples_fast(settings: LoaderSettings, shards: Sequence[Shard]) -> LoaderSettings:
    """Read texts and labels in the way that takes least time to encode."""
    return replace(settings, output=example_output(shards, settings.format))


def train_loader(
    paths: ContainerPaths,
    cluster: Cluster,
    settings: TrainingHyperparameters,
    ranks: JobRanks,
    adapt: Adapt = read_examples_fast,
) -> RecordLoader:
    """This rank's part of what its host holds. SageMaker has split the objects among hosts."""
    shards = find_shards(paths.channel(TRAIN_CHANNEL), chosen_format=settings.chosen_format)
    return RecordLoader(
        shards,
        settings=adapt(_loader_settings(settings, shuffle=True), shards),
        part=ranks.local_rank,
        parts=ranks.local_world_size,
        sharing=SharedCounting(host_rank=cluster.host_rank, all_gather=ranks.all_gather),
    )


def validation_loader(
    paths: ContainerPaths,
    settings: TrainingHyperparameters,
    ranks: JobRanks,
    adapt: Adapt = read_examples_fast,
) -> RecordLoader:
    """This rank's part of what all hosts hold: the channel is replicated."""
    shards = find_shards(paths.channel(VALIDATION_CHANNEL), chosen_format=settings.chosen_format)
    return RecordLoader(
        shards,
        settings=adapt(_loader_settings(settings, shuffle=False), shards),
        part=ranks.rank,
        parts=ranks.world_size,
        # All hosts hold the same: in this they are as one.
        sharing=SharedCounting(host_rank=0, all_gather=ranks.all_gather),
    )


def _loader_settings(settings: TrainingHyperparameters, *, shuffle: bool) -> LoaderSettings:
    return LoaderSettings(
        batch_size=settings.batch_size,
        seed=settings.seed,
        shuffle=shuffle,
        format=settings.chosen_format,
        # The validation uses all records, whatever the training does.
        uneven=settings.uneven if shuffle else "weight",
    )


@contextmanager
def closed(*iterators: object) -> Iterator[None]:
    """Close iterators, in this order, when the block ends, however it does.

    Those of the data layer have threads, which would read on for a moment. One that is reading when
    the interpreter ends may abort the process, and a stop would be a failure.
    """
    try:
        yield
    finally:
        for each in iterators:
            close = getattr(each, "close", None)
            if close is not None:
                close()


def check_plan(plan: EpochPlan, records_before: int) -> None:
    """Refuse to train on nothing.

    Args:
        plan: of what is left of the epoch.
        records_before: used of it before it was interrupted.

    Raises:
        RecordError: on all ranks alike: there is no step to take.
    """
    if plan.steps == 0 and records_before == 0:
        raise RecordError(
            f"The {len(plan.counts)} ranks have no step to take: there are no training records or, "
            "with uneven=drop, not a full batch on every rank. Write more records under "
            "TrainDataUri, lower batch_size, or leave uneven at weight."
        )
