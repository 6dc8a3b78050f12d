"""Train a model on one private, uneven set of shards per host.

Reads from top to bottom: `main` is the whole story, the rest of the file its chapters.

On SageMaker, and wherever SAGEMAKER_BASE_DIR names a folder with the same layout, the launcher
starts one process per device of each host:

    python -m training.launch pytorch

By hand, on one host with two devices, the same folder is enough:

    SAGEMAKER_BASE_DIR=folder torchrun --nproc-per-node 2 -m training.pytorch.train
"""

import os
from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from torch import Tensor
from torch.distributed.elastic.multiprocessing.errors import record

from training.contract.breakpoints import START, Breakpoints
from training.contract.cluster import Cluster
from training.contract.hyperparameters import TrainingHyperparameters
from training.contract.layout import DATA_DIGEST_VARIABLE, PYTORCH
from training.contract.metrics import VALIDATION_ACCURACY, VALIDATION_LOSS, VALIDATION_R2
from training.contract.paths import ContainerPaths
from training.pytorch.checkpoint import keep
from training.pytorch.loop import Learner, train_epoch, validate
from training.pytorch.model_file import save_model
from training.pytorch.pace import Pace
from training.pytorch.parallelism import whole_weights
from training.pytorch.precision import use_tensor_cores
from training.pytorch.ranks import join_ranks
from training.pytorch.tasks import make_task
from training.pytorch.tracking import track
from training.records import EpochPlan, agree
from training.trainer.data import check_plan, train_loader, validation_loader
from training.trainer.ending import run_rank
from training.trainer.lines import EpochSpeed, report_epoch, report_steps
from training.trainer.model_config import ModelConfig
from training.trainer.ranks import check_world
from training.trainer.report import check_loss, check_outputs, set_up_log, write_data_report
from training.trainer.settings import read_settings
from training.trainer.updates import updates_per_epoch

_QUALITY_METRICS: Final = MappingProxyType({"accuracy": VALIDATION_ACCURACY, "r2": VALIDATION_R2})


@record  # the launcher finds an exception of this rank in a file
def main() -> None:
    """Train, and leave the model with the chief."""
    paths = ContainerPaths.from_environment()
    cluster = Cluster.from_file(paths.resource_config_file)
    settings = read_settings(paths, PYTORCH)
    breakpoints = Breakpoints.from_environment(rank=int(os.environ["RANK"]))
    breakpoints.reach(START)
    with (
        join_ranks(settings.collective_timeout_s) as ranks,
        track(paths.tensorboard_dir if ranks.is_chief else None) as tracker,
    ):
        set_up_log(ranks)
        check_world(ranks, cluster)
        check_outputs(paths, cluster, ranks)
        use_tensor_cores(settings)
        task = make_task(settings)
        adapt = task.loader_settings
        train_data = train_loader(paths, cluster, settings, ranks, adapt)
        validation_data = validation_loader(paths, settings, ranks, adapt)
        # The channel is replicated, so every rank knows the parts of all.
        parts = EpochPlan(counts=validation_data.counts, batch_size=settings.batch_size)
        plan_epoch = partial(
            agree, train_data, host_rank=cluster.host_rank, all_gather=ranks.all_gather
        )
        updates = updates_per_epoch(train_data, settings, ranks) * settings.epochs
        learner = Learner.new(task, ranks, total_updates=updates)
        keeping = keep(
            learner,
            train_data,
            ranks,
            folder=paths.checkpoint_dir,
            host=cluster.current_host,
            breakpoints=breakpoints,
        )
        report = partial(report_steps, tracker, keeping, learner.rate_of)
        pace = Pace(ranks, settings.log_every_steps, report)
        with keeping.until_stopped():
            for epoch in keeping.epochs():
                speed, records = EpochSpeed(keeping.progress), keeping.progress.records
                if not keeping.progress.is_trained:
                    plan = plan_epoch(epoch=epoch)
                    check_plan(plan, records)
                    train_epoch(learner, train_data.epoch(epoch), plan, ranks, keeping, pace)
                records_per_second = speed.reached(keeping.progress)
                validation = validate(learner, validation_data.epoch(0), parts, ranks, keeping)
                check_loss(validation.loss, epoch, settings)
                numbers = {
                    VALIDATION_LOSS: validation.loss,
                    _QUALITY_METRICS[validation.quality.metric]: validation.quality.value,
                }
                report_epoch(tracker, keeping.progress, records_per_second, numbers)
                keeping.validated()
            # One that nothing was left out of.
            plan = plan_epoch(epoch=settings.epochs)
            if ranks.local_rank == 0:
                write_data_report(paths, cluster, train_data, plan)
            with ranks.attendance.waiting(when=learner.is_sharded):
                weights = whole_weights(learner.model)
            if ranks.is_chief:
                _write_model(paths, weights, settings, plan)


def _write_model(
    paths: ContainerPaths,
    weights: Mapping[str, Tensor],
    settings: TrainingHyperparameters,
    plan: EpochPlan,
) -> None:
    config = ModelConfig(
        hyperparameters=settings,
        epochs=settings.epochs,
        records=plan.records,
        data_digest=os.environ.get(DATA_DIGEST_VARIABLE),
    )
    save_model(paths.model_dir, weights, config)


if __name__ == "__main__":
    run_rank(main)
