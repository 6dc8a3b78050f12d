"""The trainer's own loop, fed by the data layer, against the same steps on tensors in memory.

Two ranks over gloo, each with shards of its own; the two loops take turns in the same processes.
"""

import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

import torch
from torch import distributed

from benchmarks.records.jobs import Job
from benchmarks.records.ranks import RANKS, run_ranks
from training.contract.breakpoints import Breakpoints
from training.contract.hyperparameters import TrainingHyperparameters
from training.pytorch.checkpoint import keep
from training.pytorch.loop import Learner, train_epoch
from training.pytorch.pace import Pace
from training.pytorch.ranks import Ranks
from training.pytorch.tasks.text import TextTask
from training.records import LoaderSettings, RecordLoader, agree, find_shards
from training.records.encoding import example_output

STEPS: Final = 60
"""Of an epoch."""
ROUNDS: Final = 5
"""In which both loops run an epoch each, after one that is not counted."""


def compare(job: Job) -> dict[str, Any]:
    """Measure records per second, of all ranks: `ours_per_second`, `in_memory_per_second`.

    Returns:
        Medians of the rounds, and `overhead`: how much longer our epochs took, the median of the
        ratios of the rounds.
    """
    return run_ranks(_measure, job)


def _measure(rank: int, folder: Path, job: Job) -> dict[str, Any]:
    mine = STEPS * job.batch_size
    _write_shard(
        Path(job.folder), folder / f"host-{rank}" / f"part-{rank}.jsonl", rank * mine, mine
    )
    distributed.barrier()
    loops = _Loops(rank, folder / f"host-{rank}", job.batch_size)
    times: list[tuple[float, float]] = []
    for epoch in range(ROUNDS + 1):
        in_memory_s = _timed(loops.in_memory, epoch)
        times.append((_timed(loops.ours, epoch), in_memory_s))
    counted = torch.tensor(times[1:])
    records = mine * RANKS
    ours_s, in_memory_s = counted.median(dim=0).values.tolist()
    return {
        "ours_per_second": records / ours_s,
        "in_memory_per_second": records / in_memory_s,
        "overhead": float((counted[:, 0] / counted[:, 1]).median()) - 1,
        "step_ms": in_memory_s / STEPS * 1000,
    }


class _Loops:
    """Both loops, with one model."""

    def __init__(self, rank: int, folder: Path, batch_size: int) -> None:
        self._ranks = Ranks(
            rank=rank,
            world_size=RANKS,
            local_rank=0,
            local_world_size=1,
            device=torch.device("cpu"),
        )
        self._task = TextTask(TrainingHyperparameters(batch_size=batch_size))
        self._learner = Learner.new(self._task, self._ranks, total_updates=1)
        self._pace = Pace(self._ranks, 0, lambda _: None)
        shards = find_shards(folder)
        settings = LoaderSettings(batch_size=batch_size, seed=0, output=example_output(shards))
        self._loader = RecordLoader(shards, settings=settings, part=0, parts=1)
        self._keeping = keep(
            self._learner,
            self._loader,
            self._ranks,
            folder=folder / "no-checkpoints",
            host=f"algo-{rank + 1}",
            breakpoints=Breakpoints(None, rank),
        )
        self._tensors = [self._task.encode(batch) for batch in self._loader.epoch(0)]

    def ours(self, epoch: int) -> None:
        """Train an epoch as `training.pytorch.train` does."""
        plan = agree(
            self._loader,
            epoch=epoch,
            host_rank=self._ranks.rank,
            all_gather=self._ranks.all_gather,
        )
        batches = self._loader.epoch(epoch)
        train_epoch(self._learner, batches, plan, self._ranks, self._keeping, self._pace)

    def in_memory(self, _epoch: int) -> None:
        """Take the same steps on what was encoded before, and nothing else."""
        model, optimizer = self._learner.replica, self._learner.optimizer
        model.train()
        for inputs in self._tensors:
            loss = self._task.record_losses(model(inputs), inputs).mean()
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call] # torch leaves it without annotations
            optimizer.step()


def _timed(loop: Callable[[int], None], epoch: int) -> float:
    distributed.barrier()
    started = time.perf_counter()
    loop(epoch)
    distributed.barrier()
    return time.perf_counter() - started


def _write_shard(source: Path, shard: Path, first: int, count: int) -> None:
    """Copy records `first` to `first + count` of the measured JSON Lines."""
    shard.parent.mkdir()
    with shard.open("wb") as file:
        file.writelines(islice(_lines(source), first, first + count))


def _lines(folder: Path) -> Iterator[bytes]:
    while True:
        for path in sorted(folder.iterdir()):
            with path.open("rb") as file:
                yield from file
