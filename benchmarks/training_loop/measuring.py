"""What every rank measures."""

import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from torch import distributed

from benchmarks.training_loop.data import write_shard
from benchmarks.training_loop.loops import Loops
from training.contract.hyperparameters import TrainingHyperparameters

STEPS: Final = 150
"""Of an epoch."""
BATCH_SIZE: Final = 32
BARE: Final = "bare"
IN_MEMORY: Final = "in_memory"
WHOLE: Final = "whole"


def cpu_of(loop: str) -> str:
    """The key of a loop's processor time, of all threads of rank 0."""
    return f"{loop}_cpu"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Of one task on some ranks."""

    settings: TrainingHyperparameters
    loops: tuple[str, ...]
    """Methods of Loops, which take turns."""
    rounds: int
    """In which every loop runs an epoch, after one that is not counted."""


def measure(rank: int, folder: Path, job: Measured) -> dict[str, Any]:
    """Let the loops take turns.

    Returns:
        Seconds of each loop in each round; under `cpu_of`, of the processor.
    """
    shards = folder / f"host-{rank}"
    write_shard(shards, job.settings.task, STEPS * BATCH_SIZE, seed=rank)
    loops = Loops(job.settings, rank, distributed.get_world_size(), shards)
    seconds: dict[str, list[float]] = defaultdict(list)
    for number in range(job.rounds + 1):
        # The other way round each time: nobody always comes after the same one.
        for name in job.loops if number % 2 else job.loops[::-1]:
            distributed.barrier()
            start_s, start_cpu_s = time.perf_counter(), time.process_time()
            getattr(loops, name)()
            distributed.barrier()
            seconds[name].append(time.perf_counter() - start_s)
            seconds[cpu_of(name)].append(time.process_time() - start_cpu_s)
    return {name: of_loop[1:] for name, of_loop in seconds.items()}
