"""Measures the trainer's loop: `python -m benchmarks.training_loop`, about six minutes.

The loops take turns in the same processes, so that what else the machine does meets all alike. The
tables go into docs/benchmarks.md, all seconds into docs/benchmarks/training-loop.json.
"""

import os
from typing import Any, Final

from benchmarks.records.ranks import run_ranks
from benchmarks.training_loop.measuring import (
    BARE,
    BATCH_SIZE,
    IN_MEMORY,
    WHOLE,
    Measured,
    measure,
)
from benchmarks.training_loop.report import OVERHEAD_RANKS, publish, tables
from evenshard.repository import ROOT
from training.contract.hyperparameters import TrainingHyperparameters

RANKS: Final = (1, 2, 4)
ROUNDS: Final = 11
SCALING_ROUNDS: Final = 3
TASKS: Final = {
    "text, bag": TrainingHyperparameters(batch_size=BATCH_SIZE),
    "text, transformer": TrainingHyperparameters(
        batch_size=BATCH_SIZE, architecture="transformer", max_words=32
    ),
    "image": TrainingHyperparameters(batch_size=BATCH_SIZE, task="image", hidden_dim=8),
}


def measured(settings: TrainingHyperparameters, ranks: int) -> dict[str, Any]:
    """Measure one task on some ranks."""
    compared = ranks == OVERHEAD_RANKS
    job = Measured(
        settings=settings,
        loops=(BARE, IN_MEMORY, WHOLE) if compared else (WHOLE,),
        rounds=ROUNDS if compared else SCALING_ROUNDS,
    )
    return run_ranks(measure, job, ranks)


def main() -> None:
    """Measure, print and publish both tables."""
    loads = [os.getloadavg()[0]]
    found = {
        task: {ranks: measured(settings, ranks) for ranks in RANKS}
        for task, settings in TASKS.items()
    }
    loads.append(os.getloadavg()[0])
    print(tables(found, loads), end="")
    folder = ROOT / "docs"
    publish(
        found,
        loads,
        page=folder / "benchmarks.md",
        results=folder / "benchmarks" / "training-loop.json",
    )


if __name__ == "__main__":
    main()
