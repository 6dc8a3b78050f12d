"""Trains one TensorFlow model after the other, and keeps what became of each.

The hyperparameter `cases` is a JSON object of names and hyperparameters; all have the vocabulary of
the hyperparameter `words`.
"""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from training.contract.breakpoints import Breakpoints
from training.contract.hyperparameters import TrainingHyperparameters, parse_training
from training.contract.layout import TENSORFLOW
from training.records import EpochPlan, LoaderSettings, RecordLoader, agree, find_shards
from training.tensorflow.checkpoint import EpochLosses, LearnerTensors
from training.tensorflow.learner import Learner
from training.tensorflow.loop import train_epoch, validate
from training.tensorflow.pace import Pace
from training.tensorflow.ranks import Ranks, join_ranks
from training.tensorflow.task import TextTask
from training.tensorflow.vocabulary import Vocabulary
from training.trainer.keeping import Keeping, KeptJob
from training.trainer.kept import KeptTraining

OUT = Path(os.environ["SM_MODEL_DIR"])
HOST = os.environ["SM_CURRENT_HOST"]
HOST_RANK = json.loads(os.environ["SM_HOSTS"]).index(HOST)
WORDS = tuple(json.loads(os.environ["SM_HP_WORDS"]))


def loader(channel: str, settings: TrainingHyperparameters, ranks: Ranks) -> RecordLoader:
    """A rank's part of a channel that the hosts hold parts of, or all of."""
    own = channel == "TRAIN"
    return RecordLoader(
        find_shards(Path(os.environ[f"SM_CHANNEL_{channel}"])),
        settings=LoaderSettings(batch_size=settings.batch_size, seed=settings.seed),
        part=ranks.local_rank if own else ranks.rank,
        parts=ranks.local_world_size if own else ranks.world_size,
    )


def run(settings: TrainingHyperparameters, ranks: Ranks) -> tuple[dict[str, Any], Learner]:
    """Train and validate; returns numbers and what was trained."""
    train_data = loader("TRAIN", settings, ranks)
    validation_data = loader("VALIDATION", settings, ranks)
    lines: list[dict[str, float]] = []
    pace = Pace(
        ranks,
        settings.log_every_steps,
        lambda numbers: lines.append({metric.key: value for metric, value in numbers.items()}),
    )
    plan = agree(train_data, epoch=0, host_rank=HOST_RANK, all_gather=ranks.all_gather)
    updates = -(-plan.steps // settings.gradient_accumulation_steps) * settings.epochs
    task = TextTask(settings, Vocabulary(WORDS))
    learner = Learner(task, ranks, settings, total_updates=updates)
    job = KeptJob(
        framework=TENSORFLOW, settings=settings, identity={}, folder=OUT / "none", host=HOST
    )
    tensors, losses = LearnerTensors(learner), EpochLosses(ranks)
    kept = KeptTraining(tensors, losses, train_data, ranks, settings)
    keeping = Keeping(kept, ranks, job, Breakpoints(None, ranks.rank))
    parts = EpochPlan(counts=validation_data.counts, batch_size=settings.batch_size)
    train_losses = []
    for epoch in keeping.epochs():
        plan = agree(train_data, epoch=epoch, host_rank=HOST_RANK, all_gather=ranks.all_gather)
        train_epoch(learner, train_data.epoch(epoch), plan, keeping, pace)
        train_losses.append(keeping.progress.train_loss)
        validation = validate(learner, validation_data.epoch(0), parts, keeping)
        keeping.validated()
    numbers = {
        "losses": train_losses,
        "accuracy": validation.accuracy,
        "updates": keeping.progress.step,
        "last_rate": learner.rate.of(keeping.progress.step),
        "lines": lines,
    }
    return numbers, learner


def main() -> None:
    """Run all cases in one group of ranks: to start one takes longer than to train."""
    found = {}
    with join_ranks() as ranks:
        for name, values in json.loads(os.environ["SM_HP_CASES"]).items():
            found[name], learner = run(parse_training(values), ranks)
            if ranks.is_chief:
                weights = [variable.numpy() for variable in learner.model.weights]
                np.savez(OUT / f"{name}.npz", *weights)
    if ranks.is_chief:
        (OUT / "found.json").write_text(json.dumps(found))


main()
