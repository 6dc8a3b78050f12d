"""A training that was told to stop and goes on ends like one that was not interrupted."""

import json
import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest
from torch import Tensor

from tests.simulation.interrupted import (
    equal_bits,
    go_on,
    interrupt,
    largest_difference,
    stored_checkpoints,
    weights,
)
from tests.simulation.launched import Host, Job, lines
from training.contract.breakpoints import EVALUATION, SAVING, STEP, Breakpoint

pytestmark = pytest.mark.timeout(400)  # torch starts in every rank, in several jobs; two cores

WORDS = ("offer", "meeting", "free", "money", "report", "lunch", "click", "winner", "agenda")
HYPERPARAMETERS = {
    "epochs": "3",
    "batch_size": "4",
    "seed": "7",
    "hash_buckets": "512",
    "embedding_dim": "8",
    "hidden_dim": "8",
    "stop_wait_s": "60",
}


def make_records(first: int, count: int) -> list[dict[str, Any]]:
    return [
        {
            "text": " ".join(WORDS[(number * k + k * k) % len(WORDS)] for k in range(number % 9)),
            "label": number * 7 % 3 % 2,
        }
        for number in range(first, first + count)
    ]


# 10 steps per epoch: 18 or 19 records on the ranks of algo-1, 10 or 11 on those of algo-2. All
# ranks have records left in the first two steps, algo-2's run out in the third.
SHARDS: tuple[dict[str, str], ...] = (
    {"a.jsonl": lines(make_records(0, 23)), "nested/b.jsonl": lines(make_records(23, 14))},
    {"c.jsonl": lines(make_records(37, 21))},
)
STEPS = 5
RECORDS = 58
VALIDATION = lines(make_records(100, 41))


def job(folder: Path, **more: str) -> Job:
    return Job(
        folder=folder,
        shards=SHARDS,
        validation=VALIDATION,
        hyperparameters={**HYPERPARAMETERS, **more},
    )


def tell_all(launchers: Sequence["Popen[str]"], _rank: int) -> None:
    """As SageMaker does for StopTrainingJob, MaxRuntime and spot."""
    for launcher in launchers:
        launcher.send_signal(signal.SIGTERM)


def tell_all_many_times(launchers: Sequence["Popen[str]"], rank: int) -> None:
    for _ in range(5):
        tell_all(launchers, rank)


def at(point: str, number: int, rank: int = 3) -> Breakpoint:
    return Breakpoint(id="moment", rank=rank, point=point, number=number)


@dataclass(frozen=True)
class Stopped:
    """A job that was stopped, and what S3 then holds."""

    hosts: list[Host]
    checkpoints: Path


def stop(folder: Path, moment: Breakpoint, **more: str) -> Stopped:
    hosts = interrupt(job(folder / "stopped", **more), moment, tell_all_many_times)
    assert [host.exit_code for host in hosts] == [0, 0], [host.log for host in hosts]
    return Stopped(hosts, stored_checkpoints(hosts, folder / "stored"))


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tensor]:
    hosts = go_on(job(tmp_path_factory.mktemp("uninterrupted")), None)
    assert [host.exit_code for host in hosts] == [0, 0], [host.log for host in hosts]
    return weights(hosts)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Stopped:
    """Told to stop after the first step of the second epoch."""
    return stop(tmp_path_factory.mktemp("stopped"), at(STEP, STEPS + 1))


@pytest.fixture(scope="module")
def resumed(stopped: Stopped, tmp_path_factory: pytest.TempPathFactory) -> list[Host]:
    hosts = go_on(job(tmp_path_factory.mktemp("resumed")), stopped.checkpoints)
    assert [host.exit_code for host in hosts] == [0, 0], [host.log for host in hosts]
    return hosts


def test_a_stop_leaves_a_checkpoint_and_no_model(stopped: Stopped) -> None:
    assert [host.model_files for host in stopped.hosts] == [[], []]
    assert [host.failure for host in stopped.hosts] == [None, None]
    log = stopped.hosts[1].log
    said = re.search(r"stopped because algo-1 and algo-2 were told to; saved at step (\d+)", log)
    assert said is not None
    # In the middle of the second epoch: the ranks ask each other after steps 1, 5, 9...
    assert STEPS < int(said.group(1)) < 2 * STEPS
    assert (stopped.checkpoints / f"step-{int(said.group(1)):09}" / "index.json").exists()


def test_resumed_weights_equal_uninterrupted_ones_bit_by_bit(
    resumed: list[Host], uninterrupted: dict[str, Tensor]
) -> None:
    assert equal_bits(weights(resumed), uninterrupted)
    assert "Going on from the checkpoint of step" in resumed[0].log
    assert "epoch=2; train_loss=" in resumed[0].log
    assert "epoch=1; " not in resumed[0].log


def test_the_model_is_whole_and_counts_whole_epochs(resumed: list[Host]) -> None:
    config = json.loads((resumed[0].base_dir / "model" / "config.json").read_text())
    assert (config["complete"], config["epochs"], config["records"]) == (True, 3, RECORDS)
    assert [host.data_report()["records"] for host in resumed] == [37, 21]


def test_other_hyperparameters_are_refused_by_name(stopped: Stopped, tmp_path: Path) -> None:
    hosts = go_on(job(tmp_path, learning_rate="0.5"), stopped.checkpoints)
    assert [host.exit_code for host in hosts] == [1, 1]
    assert all(
        "CheckpointError: The checkpoint of step" in (host.failure or "")
        and "learning_rate was 0.005 and is 0.5" in (host.failure or "")
        for host in hosts
    )


OTHER_SHARDS = (
    {"c.jsonl": SHARDS[1]["c.jsonl"], "a.jsonl": SHARDS[0]["a.jsonl"]},
    {},
    {"nested/b.jsonl": SHARDS[0]["nested/b.jsonl"]},
)


def test_other_hosts_with_other_shards_go_on_with_every_record_once(
    stopped: Stopped, tmp_path: Path
) -> None:
    other = replace(job(tmp_path), shards=OTHER_SHARDS, devices_per_host=1)
    (state,) = sorted(stopped.checkpoints.glob("step-*"))[-1:]
    done = json.loads((state / "index.json").read_text())["progress"]
    assert 0 < done["records"] < RECORDS
    program = "tests/simulation/programs/counting_rest.py"
    hosts = go_on(
        replace(other, hyperparameters={**other.hyperparameters, "program": program}),
        stopped.checkpoints,
    )
    assert [host.exit_code for host in hosts] == [0, 0, 0], [host.log for host in hosts]
