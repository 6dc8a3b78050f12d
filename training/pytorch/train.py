"""Train a text classifier on one private, uneven set of shards per host.

Reads from top to bottom: `main` is the whole story, the rest of the file its chapters.

On SageMaker, and wherever SAGEMAKER_BASE_DIR names a folder with the same layout, the launcher
starts one process per device of each host:

    python -m training.launch pytorch

By hand, on one host with two devices, the same folder is enough:

    SAGEMAKER_BASE_DIR=folder torchrun --nproc-per-node 2 -m training.pytorch.train
"""

import itertools
import json
import logging
import math
import os
import sys
import time

from torch import nn
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn.parallel import DistributedDataParallel

from training.contract.breakpoints import EVALUATION, START, STEP, Breakpoints
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
    TRAIN_CHANNEL,
    VALIDATION_CHANNEL,
)
from training.contract.metrics import (
    RECORDS_PER_SECOND,
    TRAIN_LOSS,
    VALIDATION_ACCURACY,
    VALIDATION_LOSS,
    format_line,
)
from training.contract.paths import ContainerPaths
from training.pytorch.loop import Validation, train_epoch, validate
from training.pytorch.model_file import ModelConfig, save_model
from training.pytorch.ranks import Ranks, join_ranks
from training.pytorch.task import TextTask
from training.records import (
    AgreementError,
    EpochPlan,
    LoaderSettings,
    RecordError,
    RecordLoader,
    SharedCounting,
    agree,
    find_shards,
)
from training.records.encoding import example_output

_LOG = logging.getLogger(__name__)


@record  # the launcher finds an exception of this rank in a file
def main() -> None:
    """Train, and leave the model with the chief."""
    paths = ContainerPaths.from_environment()
    cluster = Cluster.from_file(paths.resource_config_file)
    settings = parse_training(read_hyperparameters(paths.hyperparameters_file))
    breakpoints = Breakpoints.from_environment(rank=int(os.environ["RANK"]))
    breakpoints.reach(START)
    with join_ranks() as ranks:
        _set_up_log(ranks)
        task = TextTask(settings)
        model = task.build_model().to(ranks.device)
        replica = DistributedDataParallel(model)
        optimizer = task.build_optimizer(model)
        steps = itertools.count(1)
        optimizer.register_step_post_hook(lambda *_: breakpoints.reach(STEP, next(steps)))
        train_data = _train_data(paths, cluster, settings, ranks)
        validation_data = _validation_data(paths, settings, ranks)
        for epoch in range(settings.epochs):
            plan = agree(
                train_data, epoch=epoch, host_rank=cluster.host_rank, all_gather=ranks.all_gather
            )
            _check_plan(plan)
            start_s = time.monotonic()
            batches = train_data.epoch(epoch)
            loss = train_epoch(replica, optimizer, task, batches, plan, ranks)
            seconds = time.monotonic() - start_s
            _check_loss("training", loss, epoch, settings)
            breakpoints.reach(EVALUATION, epoch)
            validation = validate(model, task, validation_data.epoch(0), ranks)
            _check_loss("validation", validation.loss, epoch, settings)
            if ranks.is_chief:
                _report_epoch(epoch, loss, plan.records / seconds, validation)
        if ranks.local_rank == 0:
            _write_data_report(paths, cluster, train_data, plan)
        if ranks.is_chief:
            _write_model(paths, model, task, settings, plan)


def _set_up_log(ranks: Ranks) -> None:
    # The ranks of a host read the same folder: one of them remarking on it is enough.
    level = logging.INFO if ranks.local_rank == 0 else logging.ERROR
    logging.basicConfig(level=level, format="%(message)s", stream=sys.stdout)


def _train_data(
    paths: ContainerPaths, cluster: Cluster, settings: TrainingHyperparameters, ranks: Ranks
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


def _validation_data(
    paths: ContainerPaths, settings: TrainingHyperparameters, ranks: Ranks
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


def _check_plan(plan: EpochPlan) -> None:
    if plan.steps == 0:
        raise RecordError(
            f"The {len(plan.counts)} ranks have no step to take: there are no training records or, "
            "with uneven=drop, not a full batch on every rank. Write more records under "
            "TrainDataUri, lower batch_size, or leave uneven at weight."
        )


def _check_loss(kind: str, loss: float, epoch: int, settings: TrainingHyperparameters) -> None:
    """Refuse weights that have run away; the last step of an epoch shows in the validation only.

    Raises:
        FloatingPointError: on all ranks alike, for the loss is the same on all.
    """
    if not math.isfinite(loss):
        raise FloatingPointError(
            f"The {kind} loss of epoch {epoch + 1} is {loss}: the weights have run away. "
            f"learning_rate is {settings.learning_rate:g}; take a tenth of it."
        )


def _report_epoch(
    epoch: int, loss: float, records_per_second: float, validation: Validation
) -> None:
    values = {
        TRAIN_LOSS: loss,
        VALIDATION_LOSS: validation.loss,
        VALIDATION_ACCURACY: validation.accuracy,
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
    paths: ContainerPaths,
    model: nn.Module,
    task: TextTask,
    settings: TrainingHyperparameters,
    plan: EpochPlan,
) -> None:
    config = ModelConfig(
        task=task.name,
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
    except (AgreementError, ContractError, FloatingPointError, RecordError) as error:
        sys.exit(f"{error}")
    except RuntimeError as error:
        if lost_peer(f"{type(error).__name__}: {error}"):
            sys.exit(f"Lost the other ranks: {error}")
        raise


if __name__ == "__main__":
    _run()
