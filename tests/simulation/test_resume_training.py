"""A training that was told to stop and goes on ends like one that was not interrupted."""

import json
import re
import signal
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.simulation.interrupted import (
    STOPPED,
    equal_bits,
    go_on,
    interrupt,
    stored_checkpoints,
    weights,
)
from tests.simulation.launched import Host, Job, lines
from training.contract.breakpoints import STEP, Breakpoint

if TYPE_CHECKING:
    from subprocess import Popen

pytestmark = pytest.mark.timeout(400)  # torch starts in every rank, in several jobs; two cores

COUNTING = "tests/simulation/programs/counting.py"
WORDS = ("offer", "meeting", "free", "money", "report", "lunch", "click", "winner", "agenda")
HYPERPARAMETERS = {
    "epochs": "3",
    "batch_size": "2",
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
            "id": str(number),
        }
        for number in range(first, first + count)
    ]


# 120 records on algo-1, 90 on algo-2: 30 steps per epoch, in the last 7 of which the ranks of
# algo-2 have run out.
SHARDS: tuple[dict[str, str], ...] = (
    {"a.jsonl": lines(make_records(0, 70)), "nested/b.jsonl": lines(make_records(70, 50))},
    {"c.jsonl": lines(make_records(120, 90))},
)
STEPS = 30
RECORDS = 210
VALIDATION = lines(make_records(1000, 41))


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


def losses(hosts: Sequence[Host]) -> list[str]:
    """Of training and validation, epoch by epoch, as printed."""
    return re.findall(r"epoch=\d+; train_loss=[^;]*; validation_loss=[^;]*", hosts[0].log)


def at(point: str, number: int, rank: int = 3) -> Breakpoint:
    return Breakpoint(id="moment", rank=rank, point=point, number=number, is_of_a_stop=True)


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
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> list[Host]:
    hosts = go_on(job(tmp_path_factory.mktemp("uninterrupted")), None)
    assert [host.exit_code for host in hosts] == [0, 0], [host.log for host in hosts]
    return hosts


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Stopped:
    """Told to stop in the middle of the first epoch; writes down which records it used."""
    return stop(tmp_path_factory.mktemp("stopped"), at(STEP, 6), program=COUNTING)


@pytest.fixture(scope="module")
def resumed(stopped: Stopped, tmp_path_factory: pytest.TempPathFactory) -> list[Host]:
    hosts = go_on(job(tmp_path_factory.mktemp("resumed")), stopped.checkpoints)
    assert [host.exit_code for host in hosts] == [0, 0], [host.log for host in hosts]
    return hosts


def test_a_stop_leaves_a_checkpoint_and_no_model(stopped: Stopped) -> None:
    assert [host.model_files for host in stopped.hosts] == [[], []]
    assert [host.failure for host in stopped.hosts] == [None, None]
    log = stopped.hosts[1].log
    said = STOPPED.search(log)
    assert said is not None, log
    # The ranks ask each other after steps 1, 5 and, if the steps are short, 21.
    assert 6 <= int(said.group(1)) <= 21
    assert (stopped.checkpoints / f"step-{int(said.group(1)):09}" / "index.json").exists()


def test_resumed_weights_equal_uninterrupted_ones_bit_by_bit(
    resumed: list[Host], uninterrupted: list[Host]
) -> None:
    assert equal_bits(weights(resumed), weights(uninterrupted))
    assert "Going on from the checkpoint of step" in resumed[0].log
    assert "epoch=1; train_loss=" in resumed[0].log


def test_the_model_is_whole_and_counts_whole_epochs(resumed: list[Host]) -> None:
    config = json.loads((resumed[0].base_dir / "model" / "config.json").read_text())
    assert (config["complete"], config["epochs"], config["records"]) == (True, 3, RECORDS)
    assert [host.data_report()["records"] for host in resumed] == [120, 90]


def test_the_interrupted_epoch_has_the_loss_of_an_uninterrupted_one(
    resumed: list[Host], uninterrupted: list[Host]
) -> None:
    assert losses(resumed) == losses(uninterrupted)


def test_other_hyperparameters_are_refused_by_name(stopped: Stopped, tmp_path: Path) -> None:
    alone = replace(job(tmp_path, learning_rate="0.5"), shards=SHARDS[:1], devices_per_host=1)
    (host,) = go_on(alone, stopped.checkpoints)
    assert host.exit_code == 1
    assert host.failure is not None
    assert host.failure.startswith("algo-1, rank 0: CheckpointError: The checkpoint of step")
    assert "learning_rate was 0.005 and is 0.5" in host.failure


SHARDED = {
    "parallelism": "fsdp",
    "gradient_accumulation_steps": "2",
    "schedule": "cosine",
    "max_grad_norm": "0.5",
}
"""Every rank keeps its shards of weights and optimizer; updates are made of two batches."""


def test_shards_of_a_model_go_on_bit_by_bit_and_on_other_ranks(tmp_path: Path) -> None:
    whole = go_on(job(tmp_path / "whole", **SHARDED), None)
    stopped = stop(tmp_path, at(STEP, 3), **SHARDED)
    resumed = go_on(job(tmp_path / "resumed", **SHARDED), stopped.checkpoints)
    alone = replace(job(tmp_path / "alone", **SHARDED), shards=OTHER_SHARDS, devices_per_host=1)
    others = go_on(alone, stopped.checkpoints)
    for hosts in (whole, resumed, others):
        assert {host.exit_code for host in hosts} == {0}, [host.log for host in hosts]
    assert equal_bits(weights(resumed), weights(whole))
    assert losses(resumed) == losses(whole)
    assert weights(others).keys() == weights(whole).keys()
    assert "Going on from the checkpoint of step" in others[0].log


# Other hosts


OTHER_SHARDS: tuple[dict[str, str], ...] = (
    {"c.jsonl": SHARDS[1]["c.jsonl"], "a.jsonl": SHARDS[0]["a.jsonl"]},
    {},
    {"nested/b.jsonl": SHARDS[0]["nested/b.jsonl"]},
)


def ids(hosts: Sequence[Host]) -> Counter[str]:
    files = [file for h in hosts for file in h.base_dir.glob("output/data/ids-of-rank-*.txt")]
    every = Counter(line for file in files for line in file.read_text().splitlines())
    return Counter({name: count for name, count in every.items() if int(name) < RECORDS})


def test_other_hosts_and_ranks_go_on_with_every_record_of_the_epoch_once(
    stopped: Stopped, tmp_path: Path
) -> None:
    other = replace(job(tmp_path, program=COUNTING), shards=OTHER_SHARDS, devices_per_host=1)
    hosts = go_on(other, stopped.checkpoints)
    assert [host.exit_code for host in hosts] == [0, 0, 0], [host.log for host in hosts]
    used, rest = ids(stopped.hosts), ids(hosts)
    assert set(used.values()) == {1}
    assert 0 < len(used) < RECORDS
    # The rest of the first epoch, and two whole ones.
    assert rest == Counter(
        {str(number): 2 if str(number) in used else 3 for number in range(RECORDS)}
    )
