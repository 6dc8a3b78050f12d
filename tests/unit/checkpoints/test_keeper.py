"""The keeper with a toy for a framework: each rank's "weights" are a sum over its records."""

import logging
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.unit.checkpoints.rank_threads import on_ranks
from tests.unit.checkpoints.written import restore
from training.checkpoints import (
    NO_TROUBLE,
    CheckpointError,
    Group,
    JobStoppedError,
    Keeper,
    KeeperSettings,
)
from training.checkpoints.index import INDEX_FILE, saved_steps, step_folder

EPOCHS = 3
STEPS = 7


@dataclass
class Toy:
    """One rank's state: what it trained on, in order."""

    rank: int
    weights: list[int] = field(default_factory=list)
    position: int = 0
    bad_step: int = NO_TROUBLE

    def write(self, folder: Path) -> Sequence[Path]:
        file = folder / f"rank-{self.rank:05}.txt"
        file.write_text(",".join(map(str, self.weights)))
        return [file]

    def read(self, folder: Path, ranks: int) -> None:
        assert ranks == 4
        text = (folder / f"rank-{self.rank:05}.txt").read_text()
        self.weights = [int(word) for word in text.split(",") if word]

    def of_rank(self) -> Mapping[str, Any]:
        return {"position": self.position}

    def trouble(self) -> int:
        return self.bad_step

    def describe_trouble(self, number: int) -> str:
        return f"rank {self.rank}: the loss of step {number} is nan"


@dataclass
class Run:
    """One job over some disks: told to stop on a rank at a moment, or not at all."""

    disks: Callable[[Group], Path]
    told_rank: int = 0
    told_at: float = math.inf
    """Calls of the rank's loop before it is told."""
    every_s: float = math.inf
    seed: int = 7
    saving: Callable[[Group, int], None] = lambda _group, _step: None

    def train(self, group: Group) -> tuple[list[int], JobStoppedError | None]:
        toy, calls = Toy(group.rank), 0

        def is_told() -> bool:
            return group.rank == self.told_rank and calls >= self.told_at

        settings = KeeperSettings(
            root=self.disks(group),
            framework="toy",
            identity={"seed": self.seed},
            keep=2,
            every_s=self.every_s,
        )
        keeper = Keeper(
            settings, group, toy, is_told_to_stop=is_told, saving=partial(self.saving, group)
        )
        try:
            keeper.restore()
            for epoch in range(keeper.progress.epoch, EPOCHS):
                mine = keeper.resumed[group.rank] if keeper.resumed else {"position": 0}
                first = STEPS if keeper.progress.is_trained else mine["position"]
                keeper.resumed = ()
                for number in range(first, STEPS):
                    calls += 1
                    toy.weights.append(1000 * epoch + 10 * number + group.rank)
                    toy.position = number + 1
                    keeper.step_done(4)
                if not keeper.progress.is_trained:
                    keeper.trained(0.5)
                for _ in range(3):
                    calls += 1
                    keeper.validating()
                keeper.validated()
        except JobStoppedError as stopped:
            return toy.weights, stopped
        return toy.weights, None


EXPECTED = [
    [1000 * epoch + 10 * number + rank for epoch in range(EPOCHS) for number in range(STEPS)]
    for rank in range(4)
]


def fresh_disks(folder: Path) -> Callable[[Group], Path]:
    for host in ("algo-1", "algo-2"):
        (folder / host).mkdir(parents=True)
    return lambda group: folder / group.host


def always(disk: Path) -> Callable[[Group], Path]:
    return lambda _: disk


def test_an_uninterrupted_training_saves_after_every_epoch(tmp_path: Path) -> None:
    results = on_ranks(Run(fresh_disks(tmp_path)).train)
    assert results == [(weights, None) for weights in EXPECTED]
    assert saved_steps(tmp_path / "algo-2") == [3 * STEPS, 2 * STEPS]


def test_every_rank_tells_when_it_has_written_and_no_index_is(tmp_path: Path) -> None:
    disks = fresh_disks(tmp_path)
    seen: list[tuple[int, int, bool]] = []

    def saving(group: Group, step: int) -> None:
        folder = step_folder(disks(group), step)
        assert (folder / f"rank-{group.rank:05}.txt").exists()
        seen.append((step, group.rank, (folder / INDEX_FILE).exists()))

    on_ranks(Run(disks, saving=saving).train)
    epochs = (STEPS, 2 * STEPS, 3 * STEPS)
    assert sorted(seen) == [(step, rank, False) for step in epochs for rank in range(4)]


@pytest.mark.parametrize("told_at", [1, 5, 7, 8, 9, 10, 11, 16, 18, 29])
def test_a_stopped_one_goes_on_where_it_stopped(tmp_path: Path, told_at: int) -> None:
    run = Run(fresh_disks(tmp_path), told_rank=3, told_at=told_at)
    stopped = [stop for _, stop in on_ranks(run.train)]
    assert {stop.stop.told for stop in stopped if stop} == {("algo-2",)}
    assert all(stop.stop.is_saved for stop in stopped if stop)
    assert on_ranks(Run(always(restore(tmp_path))).train) == [
        (weights, None) for weights in EXPECTED
    ]


def test_any_chain_of_stops_leads_to_the_same(tmp_path: Path) -> None:
    chance = random.Random(1)  # noqa: S311 - no secret
    disks, stops = fresh_disks(tmp_path), 0
    while True:
        told_at = chance.choice((*range(1, 12), math.inf)) if stops < 8 else math.inf
        run = Run(disks, told_rank=chance.randrange(4), told_at=told_at, every_s=0)
        results = on_ranks(run.train)
        if results[0][1] is None:
            break
        stops += 1
        disks = always(restore(tmp_path))
    assert stops > 1
    assert [weights for weights, _ in results] == EXPECTED


def test_time_decides_too(tmp_path: Path) -> None:
    on_ranks(Run(fresh_disks(tmp_path), told_at=4, every_s=1e-9).train)
    assert saved_steps(tmp_path / "algo-1") == [5, 1]  # asked after steps 1 and 1 + 4


def test_without_a_folder_a_stop_saves_nothing_and_says_so_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "algo-1").mkdir()
    with caplog.at_level(logging.WARNING):
        results = on_ranks(Run(lambda group: tmp_path / group.host, told_at=2, every_s=0).train)
    assert all(stop is not None and not stop.stop.is_saved for _, stop in results)
    assert not (tmp_path / "algo-2").exists()
    assert saved_steps(tmp_path / "algo-1") == []
    assert caplog.text.count("no checkpoint is written") == 1
    assert "on algo-2, so" in caplog.text


def test_another_training_is_refused(tmp_path: Path) -> None:
    on_ranks(Run(fresh_disks(tmp_path), told_at=2).train)
    disk = restore(tmp_path)
    with pytest.raises(CheckpointError, match="seed was 7 and is 8"):
        on_ranks(Run(lambda _: disk, seed=8).train)


def test_trouble_of_one_rank_is_told_by_all(tmp_path: Path) -> None:
    disks = fresh_disks(tmp_path)

    def train(group: Group) -> str:
        toy = Toy(group.rank, bad_step={1: 9, 2: 8}.get(group.rank, NO_TROUBLE))
        settings = KeeperSettings(
            root=disks(group), framework="toy", identity={}, keep=1, every_s=math.inf
        )
        keeper = Keeper(settings, group, toy, is_told_to_stop=lambda: False)
        with pytest.raises(FloatingPointError) as caught:
            keeper.trained(1.0)
        return str(caught.value)

    assert set(on_ranks(train)) == {"rank 2: the loss of step 8 is nan"}
