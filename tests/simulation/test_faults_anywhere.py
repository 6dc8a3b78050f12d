"""Kill anywhere: a training that is interrupted at 20 random moments loses and repeats nothing."""

import random
import re
import tarfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load
from torch import Tensor

from evenshard.simulator import Result, SimulationRequest, Status, simulate
from tests.simulation.fault_matrix import training_only
from tests.simulation.pipeline_runs import Edit
from tests.simulation.small_mail import TRAIN_SHARDS, write_shard, write_splits

pytestmark = [
    pytest.mark.slow,  # 22 trainings one after the other: about 6 minutes
    pytest.mark.timeout(2400),
]
INTERRUPTIONS = 20
EPOCHS = 45
STEPS = 12 * EPOCHS
"""More than 20 stops can use up: the ranks ask each other about stops after at most 21 steps."""
GOING_ON = re.compile(r"Going on from the checkpoint of step (\d+)")


@pytest.fixture
def request_(edited: Callable[[Edit], Path], tmp_path: Path) -> SimulationRequest:
    hyperparameters = {
        "program": "tests/simulation/programs/chain.py",
        "checkpoint_every_s": "0.3",
        "hash_buckets": "64",
    }
    return SimulationRequest(
        framework="pytorch",
        data=write_data(tmp_path / "data"),
        assembly=edited(training_only("pytorch", **hyperparameters)),
        state_folder=tmp_path / "state",
        hosts=2,
        devices_per_host=2,
        parameters={"Epochs": str(EPOCHS), "BatchSize": "8"},
        grace_s=60,
    )


def write_data(folder: Path) -> Path:
    """The usual shards, with an id in every record."""
    write_splits(folder)
    number = 0
    for index, size in enumerate(TRAIN_SHARDS):
        records = [
            {"id": number + i, "text": f"word{(number + i) % 13} mail", "label": (number + i) % 2}
            for i in range(size)
        ]
        write_shard(folder, f"train/part-{index:05}.jsonl", records)
        number += size
    return folder


def run(request: SimulationRequest, **changes: object) -> Result:
    return simulate(replace(request, **changes), lambda _event: None)  # type: ignore[arg-type] # its fields


def interruption(draw: random.Random, step: int) -> list[str]:
    """One fault, of any kind that a checkpoint is for, soon after a step."""
    moment = f"step={step + draw.randint(1, 8)}"
    host, rank = draw.choice(("algo-1", "algo-2")), draw.randrange(2)
    return draw.choice(
        (
            [f"sigterm:algo-1@{moment}", f"sigterm:algo-2@{moment}"],
            [f"sigkill:{host}/{rank}@{moment}"],
        )
    )


def host_folder(result: Result, host: str) -> Path:
    return result.folder / "steps" / "Train" / "hosts" / host


def restored_step(result: Result) -> int:
    said = GOING_ON.search((host_folder(result, "algo-1") / "log.txt").read_text())
    return int(said.group(1)) if said else 0


def newest_checkpoint(result: Result) -> int:
    indexes = (result.folder / "objects" / "checkpoints").rglob("step-*/index.json")
    return max((int(file.parent.name.removeprefix("step-")) for file in indexes), default=0)


def updates(result: Result, first: int, last: int) -> Counter[tuple[int, str]]:
    """(epoch, record) of the updates after step `first` up to `last`, of all ranks."""
    used: Counter[tuple[int, str]] = Counter()
    for file in (result.folder / "steps/Train/hosts").glob("*/output/data/updates-of-rank-*.txt"):
        for line in file.read_text().splitlines():
            epoch, step, *ids = line.split()
            if first < int(step) <= last:
                used.update((int(epoch), record) for record in ids)
    return used


def weights(result: Result) -> dict[str, Tensor]:
    (archive,) = (result.folder / "objects").rglob("model.tar.gz")
    with tarfile.open(archive) as tar:
        member = tar.extractfile("model.safetensors")
        assert member is not None
        return load(member.read())


def test_twenty_interruptions_change_nothing(request_: SimulationRequest) -> None:
    whole = run(request_)
    assert whole.status is Status.SUCCEEDED, whole.failure_reason
    draw = random.Random(5)  # noqa: S311 - repeatable moments
    chain: list[Result] = []
    for _ in range(INTERRUPTIONS):
        before = chain[-1] if chain else None
        step = newest_checkpoint(before) if before else 0
        resume = before.execution_id if before and step else None
        result = run(request_, faults=interruption(draw, step), resume=resume)
        assert result.status in (Status.FAILED, Status.STOPPED), step
        assert not result.faults.open()
        chain.append(result)
    last = run(request_, resume=chain[-1].execution_id)
    assert last.status is Status.SUCCEEDED, last.failure_reason
    chain.append(last)

    starts = [*(restored_step(result) for result in chain), STEPS]
    assert starts == sorted(starts)
    used = Counter[tuple[int, str]]()
    for result, first, end in zip(chain, starts, starts[1:], strict=False):
        used.update(updates(result, first, end))
    records = range(sum(TRAIN_SHARDS))
    assert used == Counter((epoch, str(record)) for epoch in range(EPOCHS) for record in records)
    one, other = weights(whole), weights(last)
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)
