"""The records of a job, one loader per channel, and the refusal of an epoch without steps."""

from training.contract.cluster import Cluster
from training.contract.hyperparameters import TrainingHyperparameters
from training.contract.layout import TRAIN_CHANNEL, VALIDATION_CHANNEL
from training.contract.paths import ContainerPaths
from training.records import (
    EpochPlan,
    LoaderSettings,
    RecordError,
    RecordLoader,
    SharedCounting,
    find_shards,
)
from training.records.encoding import example_output
from training.trainer.ranks import JobRanks


def train_loader(
    paths: ContainerPaths, cluster: Cluster, settings: TrainingHyperparameters, ranks: JobRanks
) -> RecordLoader:
    """This rank's part of what its host holds. SageMaker has split the objects among hosts."""
    chosen = settings.chosen_format
    shards = find_shards(paths.channel(TRAIN_CHANNEL), chosen_format=chosen)
    return RecordLoader(
        shards,
        settings=LoaderSettings(
            batch_size=settings.batch_size,
            seed=settings.seed,
            format=chosen,
            uneven=settings.uneven,
            output=example_output(shards, chosen),
        ),
        part=ranks.local_rank,
        parts=ranks.local_world_size,
        sharing=SharedCounting(host_rank=cluster.host_rank, all_gather=ranks.all_gather),
    )


def validation_loader(
    paths: ContainerPaths, settings: TrainingHyperparameters, ranks: JobRanks
) -> RecordLoader:
    """This rank's part of what all hosts hold: the channel is replicated."""
    chosen = settings.chosen_format
    shards = find_shards(paths.channel(VALIDATION_CHANNEL), chosen_format=chosen)
    return RecordLoader(
        shards,
        settings=LoaderSettings(
            batch_size=settings.batch_size,
            seed=settings.seed,
            shuffle=False,
            format=chosen,
            output=example_output(shards, chosen),
        ),
        part=ranks.rank,
        parts=ranks.world_size,
        # All hosts hold the same: in this they are as one.
        sharing=SharedCounting(host_rank=0, all_gather=ranks.all_gather),
    )


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
