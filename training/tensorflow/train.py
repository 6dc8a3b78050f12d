"""Train a text classifier on one private, uneven set of shards per host.

Reads from top to bottom: `main` is the whole story, the rest of the file its chapters.

On SageMaker, and wherever SAGEMAKER_BASE_DIR names a folder with the same layout, the launcher
starts one process per device of each host:

    python -m training.launch tensorflow

By hand, in one process, the same folder is enough:

    SAGEMAKER_BASE_DIR=folder python -m training.tensorflow.train
"""

import os
from functools import partial
from hashlib import sha256

import keras

from training.checkpoints import Found, Group, find_checkpoint
from training.contract.breakpoints import START, Breakpoints
from training.contract.cluster import Cluster
from training.contract.hyperparameters import TrainingHyperparameters
from training.contract.layout import DATA_DIGEST_VARIABLE, TENSORFLOW
from training.contract.metrics import VALIDATION_ACCURACY, VALIDATION_LOSS
from training.contract.paths import ContainerPaths
from training.launcher.exceptions import recorded
from training.records import AgreementError, EpochPlan, RecordLoader, agree
from training.tensorflow.checkpoint import EpochLosses, LearnerTensors
from training.tensorflow.kept_vocabulary import VOCABULARY
from training.tensorflow.learner import Learner
from training.tensorflow.loop import train_epoch, validate
from training.tensorflow.model_file import save_model
from training.tensorflow.one_vocabulary import one_vocabulary
from training.tensorflow.pace import Pace
from training.tensorflow.precision import use_tensor_cores
from training.tensorflow.ranks import Ranks, join_ranks
from training.tensorflow.task import TextTask
from training.tensorflow.tracking import track
from training.trainer.data import check_plan, train_loader, validation_loader
from training.trainer.ending import run_rank
from training.trainer.keeping import Keeping, KeptJob
from training.trainer.kept import KeptTraining
from training.trainer.lines import EpochSpeed, report_epoch, report_steps
from training.trainer.model_config import ModelConfig
from training.trainer.ranks import check_world
from training.trainer.report import check_loss, check_outputs, set_up_log, write_data_report
from training.trainer.settings import read_settings
from training.trainer.updates import updates_per_epoch


@recorded  # the launcher finds an exception of this rank in a file
def main() -> None:
    """Train, and leave the model with the chief."""
    paths = ContainerPaths.from_environment()
    cluster = Cluster.from_file(paths.resource_config_file)
    settings = read_settings(paths, TENSORFLOW)
    breakpoints = Breakpoints.from_environment(rank=int(os.environ.get("RANK", "0")))
    breakpoints.reach(START)
    with (
        join_ranks() as ranks,
        track(paths.tensorboard_dir if ranks.is_chief else None) as tracker,
    ):
        set_up_log(ranks)
        check_world(ranks, cluster)
        check_outputs(paths, cluster, ranks)
        use_tensor_cores(settings)
        train_data = train_loader(paths, cluster, settings, ranks)
        validation_data = validation_loader(paths, settings, ranks)
        found = _find_checkpoint(paths, cluster, ranks)
        task = TextTask(settings, one_vocabulary(paths, settings, ranks, found))
        updates = updates_per_epoch(train_data, settings, ranks) * settings.epochs
        learner = Learner(task, ranks, settings, total_updates=updates)
        # The channel is replicated, so every rank knows the parts of all.
        parts = EpochPlan(counts=validation_data.counts, batch_size=settings.batch_size)
        plan_epoch = partial(
            agree, train_data, host_rank=cluster.host_rank, all_gather=ranks.all_gather
        )
        job = KeptJob(
            framework=TENSORFLOW,
            settings=settings,
            # A word's row depends on all others.
            identity={VOCABULARY: task.vocabulary.digest},
            folder=paths.checkpoint_dir,
            host=cluster.current_host,
            found=found,
        )
        keeping = _keeping(job, learner, train_data, breakpoints)
        report = partial(report_steps, tracker, keeping, learner.rate.of)
        pace = Pace(ranks, settings.log_every_steps, report)
        with keeping.until_stopped():
            for epoch in keeping.epochs():
                speed, records = EpochSpeed(keeping.progress), keeping.progress.records
                if not keeping.progress.is_trained:
                    plan = plan_epoch(epoch=epoch)
                    check_plan(plan, records)
                    train_epoch(learner, train_data.epoch(epoch), plan, keeping, pace)
                records_per_second = speed.reached(keeping.progress)
                validation = validate(learner, validation_data.epoch(0), parts, keeping)
                check_loss(validation.loss, epoch, settings)
                numbers = {
                    VALIDATION_LOSS: validation.loss,
                    VALIDATION_ACCURACY: validation.accuracy,
                }
                report_epoch(tracker, keeping.progress, records_per_second, numbers)
                keeping.validated()
            _check_equal_weights(learner.model, ranks)
            # One that nothing was left out of.
            plan = plan_epoch(epoch=settings.epochs)
            if ranks.local_rank == 0:
                write_data_report(paths, cluster, train_data, plan)
            if ranks.is_chief:
                _write_model(paths, task.whole_model(learner.model), settings, plan)


def _keeping(
    job: KeptJob, learner: Learner, train_data: RecordLoader, breakpoints: Breakpoints
) -> Keeping[float]:
    """What saves the training, lets it go on, and ends it when the job is told to stop."""
    tensors, losses = LearnerTensors(learner), EpochLosses(learner.ranks)
    kept = KeptTraining(tensors, losses, train_data, learner.ranks, job.settings)
    return Keeping(kept, learner.ranks, job, breakpoints)


def _find_checkpoint(paths: ContainerPaths, cluster: Cluster, ranks: Ranks) -> Found:
    group = Group(
        rank=ranks.rank,
        local_rank=ranks.local_rank,
        host=cluster.current_host,
        all_gather=ranks.all_gather,
    )
    return find_checkpoint(paths.checkpoint_dir, group)


def _check_equal_weights(model: keras.Model, ranks: Ranks) -> None:
    """Notice if the ranks have drifted apart, whatever the reason: there is no one model then.

    Raises:
        AgreementError: on all ranks alike.
    """
    content = sha256(b"".join(variable.numpy().tobytes() for variable in model.weights)).digest()
    digests = ranks.all_gather([int.from_bytes(content[:8], "big") >> 1])
    if any(digest != digests[0] for digest in digests):
        raise AgreementError(
            f"The weights of the {ranks.world_size} ranks differ after the training. Start every "
            "rank with the same code on the same kind of instance."
        )


def _write_model(
    paths: ContainerPaths, model: keras.Model, settings: TrainingHyperparameters, plan: EpochPlan
) -> None:
    config = ModelConfig(
        hyperparameters=settings,
        epochs=settings.epochs,
        records=plan.records,
        data_digest=os.environ.get(DATA_DIGEST_VARIABLE),
    )
    save_model(paths.model_dir, model, config)


if __name__ == "__main__":
    run_rank(main)
