"""Measures the trainer's loop: `python -m benchmarks.training_loop`, about three minutes.

The loops take turns in the same processes, so that what else the machine does meets all alike.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from torch import distributed

from benchmarks.records.ranks import run_ranks
from benchmarks.training_loop.data import write_shard
from benchmarks.training_loop.loops import Loops
from training.contract.hyperparameters import TrainingHyperparameters

STEPS: Final = 40
"""Of an epoch."""
ROUNDS: Final = 5
"""In which every loop runs an epoch, after one that is not counted."""
BATCH_SIZE: Final = 32
RANKS: Final = (1, 2, 4)
OVERHEAD_RANKS: Final = 2
LOOPS: Final = ("bare", "in_memory", "whole")
TASKS: Final = {
    "text, bag": TrainingHyperparameters(batch_size=BATCH_SIZE),
    "text, transformer": TrainingHyperparameters(
        batch_size=BATCH_SIZE, architecture="transformer", max_words=32
    ),
    "image": TrainingHyperparameters(batch_size=BATCH_SIZE, task="image", hidden_dim=8),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Of one task on some ranks."""

    settings: TrainingHyperparameters
    ranks: int


def measure(rank: int, folder: Path, job: Measured) -> dict[str, Any]:
    """Let the loops take turns.

    Returns:
        Seconds of each loop in each round.
    """
    shards = folder / f"host-{rank}"
    write_shard(shards, job.settings.task, STEPS * BATCH_SIZE, seed=rank)
    loops = Loops(job.settings, rank, job.ranks, shards)
    seconds: dict[str, list[float]] = {name: [] for name in LOOPS}
    for _ in range(ROUNDS + 1):
        for name in LOOPS:
            distributed.barrier()
            start_s = time.perf_counter()
            getattr(loops, name)()
            distributed.barrier()
            seconds[name].append(time.perf_counter() - start_s)
    return {name: of_loop[1:] for name, of_loop in seconds.items()}


def overhead(seconds: dict[str, list[float]], loop: str) -> float:
    """How much longer a loop takes than the bare one: the median of the rounds' ratios."""
    pairs = zip(seconds[loop], seconds["bare"], strict=True)
    return median(taken / bare for taken, bare in pairs) - 1


def main() -> None:
    """Measure and print both tables."""
    found = {
        (task, ranks): run_ranks(measure, Measured(settings=settings, ranks=ranks), ranks)
        for task, settings in TASKS.items()
        for ranks in RANKS
    }
    print("| task | bare step | our loop on tensors | with the data layer |")
    print("|---|---|---|---|")
    for task in TASKS:
        seconds = found[task, OVERHEAD_RANKS]
        print(
            f"| {task} | {median(seconds['bare']) / STEPS * 1000:.1f} ms "
            f"| {overhead(seconds, 'in_memory'):+.1%} | {overhead(seconds, 'whole'):+.1%} |"
        )
    print()
    print(f"| task | {' | '.join(f'{ranks} ranks' for ranks in RANKS)} |")
    print(f"|---{'|---' * len(RANKS)}|")
    for task in TASKS:
        paces = [
            STEPS * BATCH_SIZE * ranks / median(found[task, ranks]["whole"]) for ranks in RANKS
        ]
        cells = [f"{pace:,.0f} ({pace / paces[0]:.2f} x)" for pace in paces]
        print(f"| {task} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
