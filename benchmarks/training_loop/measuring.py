"""What every rank measures."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from torch import distributed

from benchmarks.training_loop.data import write_shard
from benchmarks.training_loop.loops import Loops
from training.contract.hyperparameters import TrainingHyperparameters

STEPS: Final = 40
"""Of an epoch."""
ROUNDS: Final = 5
"""In which every loop runs an epoch, after one that is not counted."""
BATCH_SIZE: Final = 32
LOOPS: Final = ("bare", "in_memory", "whole")


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
