"""Trains one model after the other, each with its own hyperparameters, and keeps what became of it.

The hyperparameter `cases` is a JSON object of names and hyperparameters; the shards of each task
lie in a folder of its name below the channels.
"""

import atexit
import json
import os
from pathlib import Path
from typing import Any

from safetensors.torch import save_file

from tests.simulation.programs.gloo_threads import write_gloo_threads_left
from training.contract.breakpoints import Breakpoints
from training.contract.hyperparameters import TrainingHyperparameters, parse_training
from training.pytorch.checkpoint import keep
from training.pytorch.loop import Learner, train_epoch, validate
from training.pytorch.pace import Pace
from training.pytorch.parallelism import whole_weights
from training.pytorch.ranks import Ranks, join_ranks
from training.pytorch.tasks import make_task
from training.records import EpochPlan, LoaderSettings, RecordLoader, agree, find_shards

OUT = Path(os.environ["SM_MODEL_DIR"])
HOSTS = json.loads(os.environ["SM_HOSTS"])
HOST_RANK = HOSTS.index(os.environ["SM_CURRENT_HOST"])


def loader(channel: str, settings: TrainingHyperparameters, ranks: Ranks) -> RecordLoader:
    """A rank's part of a channel that the hosts hold parts of, or all of."""
    shards = find_shards(Path(os.environ[f"SM_CHANNEL_{channel}"]) / settings.task)
    own = channel == "TRAIN"
    return RecordLoader(
        shards,
        settings=make_task(settings).loader_settings(
            LoaderSettings(batch_size=settings.batch_size, seed=settings.seed), shards
        ),
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
    updates = -(-plan.steps // settings.gradient_accumulation_steps)
    learner = Learner.new(make_task(settings), ranks, total_updates=updates * settings.epochs)
    parts = EpochPlan(counts=validation_data.counts, batch_size=settings.batch_size)
    keeping = keep(
        learner,
        train_data,
        ranks,
        folder=OUT / "no-checkpoints",
        host=os.environ["SM_CURRENT_HOST"],
        breakpoints=Breakpoints(None, ranks.rank),
    )
    losses = []
    for epoch in keeping.epochs():
        plan = agree(train_data, epoch=epoch, host_rank=HOST_RANK, all_gather=ranks.all_gather)
        train_epoch(learner, train_data.epoch(epoch), plan, ranks, keeping, pace)
        losses.append(keeping.progress.train_loss)
        validation = validate(learner, validation_data.epoch(0), parts, ranks, keeping)
        keeping.validated()
    numbers = {
        "losses": losses,
        "accuracy": validation.quality.value,
        "validated": validation.quality.records,
        "updates": learner.updates,
        "learning_rate": learner.learning_rate,
        "lines": lines,
    }
    return numbers, learner


def main() -> None:
    """Run all cases in one group of ranks: to start one takes longer than to train."""
    # The first to be registered is the last to be called.
    atexit.register(write_gloo_threads_left)
    found = {}
    with join_ranks(300) as ranks:
        for name, values in json.loads(os.environ["SM_HP_CASES"]).items():
            found[name], learner = run(parse_training(values), ranks)
            weights = whole_weights(learner.model)
            if ranks.is_chief:
                save_file({k: v.contiguous() for k, v in weights.items()}, OUT / name)
    if ranks.is_chief:
        (OUT / "found.json").write_text(json.dumps(found))


main()
