"""Train a model on one private, uneven set of shards per host.

Reads from top to bottom: `main` is the whole story, the rest of the file its chapters.

On SageMaker, and wherever SAGEMAKER_BASE_DIR names a folder with the same layout, the launcher
starts one process per device of each host:

    python -m training.launch pytorch

By hand, on one host with two devices, the same folder is enough:

    SAGEMAKER_BASE_DIR=folder torchrun --nproc-per-node 2 -m training.pytorch.train
"""

import json
import logging
import math
import os
import sys
import time
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from torch import Tensor, nn
from torch.distributed.elastic.multiprocessing.errors import record

from training.checkpoints import CheckpointError
from training.contract.breakpoints import START, Breakpoints
from training.contract.cluster import Cluster
from training.contract.errors import ContractError
from training.contract.failure import lost_peer
from training.contract.hyperparameters import (
    TrainingHyperparameters,
    parse_training,
    read_hyperparameters,
)
from training.contract.layout import (
    DATA_DIGEST_VARIABLE,
    DATA_REPORT_FILE,
    PYTORCH,
    TRAIN_CHANNEL,
    VALIDATION_CHANNEL,
)
from training.contract.metrics import (
    RECORDS_PER_SECOND,
    TRAIN_LOSS,
    VALIDATION_ACCURACY,
    VALIDATION_LOSS,
    VALIDATION_R2,
    format_line,
)
from training.contract.paths import ContainerPaths
from training.pytorch.checkpoint import EpochLosses, LearnerTensors
from training.pytorch.loop import Learner, Validation, train_epoch, validate
from training.pytorch.model_file import ModelConfig, save_model
from training.pytorch.random_states import seed_epoch
from training.pytorch.ranks import Ranks, join_ranks
from training.pytorch.task import Task
from training.pytorch.tasks import make_task
from training.records import (
    AgreementError,
    EpochPlan,
    LoaderSettings,
    RecordError,
    RecordLoader,
    SharedCounting,
    StateError,
    agree,
    find_shards,
)
from training.trainer.keeping import Keeping, KeptJob
from training.trainer.kept import KeptTraining

_LOG = logging.getLogger(__name__)
_QUALITY_METRICS: Final = MappingProxyType({"accuracy": VALIDATION_ACCURACY, "r2": VALIDATION_R2})


@record  # the launcher finds an exception of this rank in a file
def main() -> None:
    """Train, and leave the model with the chief."""
    paths = ContainerPaths.from_environment()
    cluster = Cluster.from_file(paths.resource_config_file)
    settings = parse_training(read_hyperparameters(paths.hyperparameters_file))
    breakpoints = Breakpoints.from_environment(rank=int(os.environ["RANK"]))
    breakpoints.reach(START)
    with join_ranks(settings.collective_timeout_s) as ranks:
        _set_up_log(ranks)
        task = make_task(settings)
        learner = Learner.new(task, ranks)
        train_data = _train_data(paths, cluster, task, ranks)
        validation_data = _validation_data(paths, task, ranks)
        # The channel is replicated, so every rank knows the parts of all.
        parts = EpochPlan(counts=validation_data.counts, batch_size=settings.batch_size)
        plan_epoch = partial(
            agree, train_data, host_rank=cluster.host_rank, all_gather=ranks.all_gather
        )
        keeping = _keeping(paths, cluster, learner, train_data, ranks, breakpoints)
        with keeping.until_stopped():
            for epoch in keeping.epochs():
                start_s, records = time.monotonic(), keeping.progress.records
                if not keeping.progress.is_trained:
                    plan = plan_epoch(epoch=epoch)
                    _check_plan(plan, records)
                    train_epoch(learner, train_data.epoch(epoch), plan, ranks, keeping)
                pace = (keeping.progress.records - records) / (time.monotonic() - start_s)
                validation = validate(learner, validation_data.epoch(0), parts, ranks, keeping)
                _check_loss(validation.loss, epoch, settings)
                if ranks.is_chief:
                    _report_epoch(epoch, keeping.progress.train_loss, pace, validation)
                keeping.validated()
            # One that nothing was left out of.
            plan = plan_epoch(epoch=settings.epochs)
            if ranks.local_rank == 0:
                _write_data_report(paths, cluster, train_data, plan)
            if ranks.is_chief:
                _write_model(paths, learner.model, settings, plan)


def _keeping(
    paths: ContainerPaths,
    cluster: Cluster,
    learner: Learner,
    train_data: RecordLoader,
    ranks: Ranks,
    breakpoints: Breakpoints,
) -> Keeping[Tensor]:
    """What saves the training, lets it go on, and ends it when the job is told to stop."""
    settings = learner.task.settings
    job = KeptJob(
        framework=PYTORCH,
        settings=settings,
        identity={},
        folder=paths.checkpoint_dir,
        host=cluster.current_host,
    )
    tensors, losses = LearnerTensors(learner, ranks), EpochLosses(ranks)
    kept = KeptTraining(tensors, losses, train_data, ranks, settings)
    return Keeping(
        kept, ranks, job, breakpoints, lambda epoch: seed_epoch(settings.seed, epoch, ranks.rank)
    )


def _set_up_log(ranks: Ranks) -> None:
    # The ranks of a host read the same folder: one of them remarking on it is enough.
    level = logging.INFO if ranks.local_rank == 0 else logging.ERROR
    logging.basicConfig(level=level, format="%(message)s", stream=sys.stdout)


def _train_data(
    paths: ContainerPaths, cluster: Cluster, task: Task[Any], ranks: Ranks
) -> RecordLoader:
    """This rank's part of what its host holds. SageMaker has split the objects among hosts."""
    settings, chosen = task.settings, task.settings.chosen_format
    shards = find_shards(paths.channel(TRAIN_CHANNEL), chosen_format=chosen)
    loader_settings = LoaderSettings(
        batch_size=settings.batch_size, seed=settings.seed, format=chosen, uneven=settings.uneven
    )
    return RecordLoader(
        shards,
        settings=task.loader_settings(loader_settings, shards),
        part=ranks.local_rank,
        parts=ranks.local_world_size,
        sharing=SharedCounting(host_rank=cluster.host_rank, all_gather=ranks.all_gather),
    )


def _validation_data(paths: ContainerPaths, task: Task[Any], ranks: Ranks) -> RecordLoader:
    """This rank's part of what all hosts hold: the channel is replicated."""
    settings, chosen = task.settings, task.settings.chosen_format
    shards = find_shards(paths.channel(VALIDATION_CHANNEL), chosen_format=chosen)
    loader_settings = LoaderSettings(
        batch_size=settings.batch_size, seed=settings.seed, shuffle=False, format=chosen
    )
    return RecordLoader(
        shards,
        settings=task.loader_settings(loader_settings, shards),
        part=ranks.rank,
        parts=ranks.world_size,
        # All hosts hold the same: in this they are as one.
        sharing=SharedCounting(host_rank=0, all_gather=ranks.all_gather),
    )


def _check_plan(plan: EpochPlan, records_before: int) -> None:
    if plan.steps == 0 and records_before == 0:
        raise RecordError(
            f"The {len(plan.counts)} ranks have no step to take: there are no training records or, "
            "with uneven=drop, not a full batch on every rank. Write more records under "
            "TrainDataUri, lower batch_size, or leave uneven at weight."
        )


def _check_loss(loss: float, epoch: int, settings: TrainingHyperparameters) -> None:
    """Refuse weights that ran away in an epoch's last step: that shows in the validation only.

    Raises:
        FloatingPointError: on all ranks alike, for the loss is the same on all.
    """
    if not math.isfinite(loss):
        raise FloatingPointError(
            f"The validation loss of epoch {epoch + 1} is {loss}: the weights have run away. "
            f"learning_rate is {settings.learning_rate:g}; take a tenth of it."
        )


def _report_epoch(
    epoch: int, loss: float, records_per_second: float, validation: Validation
) -> None:
    values = {
        TRAIN_LOSS: loss,
        VALIDATION_LOSS: validation.loss,
        _QUALITY_METRICS[validation.quality.metric]: validation.quality.value,
        RECORDS_PER_SECOND: records_per_second,
    }
    _LOG.info("%s", format_line(epoch + 1, values))


def _write_data_report(
    paths: ContainerPaths, cluster: Cluster, train_data: RecordLoader, plan: EpochPlan
) -> None:
    """Say how many records this host has. A folder per host: SageMaker merges all of them."""
    folder = paths.output_data_dir / cluster.current_host
    folder.mkdir(parents=True, exist_ok=True)
    report = {
        "host": cluster.current_host,
        "records": sum(train_data.counts),
        "records_per_rank": train_data.counts,
        "steps": plan.steps,
        "data_digest": os.environ.get(DATA_DIGEST_VARIABLE),
    }
    text = json.dumps(report, indent=2) + "\n"
    (folder / DATA_REPORT_FILE).write_text(text, encoding="utf-8")


def _write_model(
    paths: ContainerPaths, model: nn.Module, settings: TrainingHyperparameters, plan: EpochPlan
) -> None:
    config = ModelConfig(
        hyperparameters=settings,
        epochs=settings.epochs,
        records=plan.records,
        data_digest=os.environ.get(DATA_DIGEST_VARIABLE),
    )
    save_model(paths.model_dir, model, config)


def _run() -> None:
    """Run `main`, without a traceback where the message alone says what to do."""
    try:
        main()
    except (
        AgreementError,
        CheckpointError,
        ContractError,
        FloatingPointError,
        RecordError,
        StateError,
    ) as error:
        sys.exit(f"{error}")
    except RuntimeError as error:
        if lost_peer(f"{type(error).__name__}: {error}"):
            sys.exit(f"Lost the other ranks: {error}")
        raise


if __name__ == "__main__":
    _run()
