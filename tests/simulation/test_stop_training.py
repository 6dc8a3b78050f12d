"""A stop, whenever it comes and whomever it reaches: saved, no model, nobody left waiting."""

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.simulation.interrupted import equal_bits, go_on, interrupt, stored_checkpoints, weights
from tests.simulation.launched import Host, Job, lines
from training.contract.breakpoints import EVALUATION, SAVING, START, STEP, Breakpoint

if TYPE_CHECKING:
    from subprocess import Popen

pytestmark = pytest.mark.timeout(400)  # torch starts in every rank, in several jobs; two cores

RECORDS = [{"text": f"word{number} same", "label": number % 2} for number in range(60)]
STOP_LIMIT_S = 60
"""Of the 120 that SageMaker leaves between its two signals."""


def job(folder: Path, **more: str) -> Job:
    return Job(
        folder=folder,
        shards=({"a.jsonl": lines(RECORDS[:40])}, {"b.jsonl": lines(RECORDS[40:])}),
        validation=lines(RECORDS[:21]),
        hyperparameters={
            "epochs": "2",
            "batch_size": "2",
            "hash_buckets": "64",
            "stop_wait_s": "60",
            **more,
        },
    )


class Teller:
    """Tells hosts to stop, and remembers when."""

    def __init__(self, *hosts: int, times: int = 1) -> None:
        self.hosts = hosts
        self.times = times
        self.told_s = 0.0

    def __call__(self, launchers: Sequence["Popen[str]"], _rank: int) -> None:
        self.told_s = time.monotonic()
        for _ in range(self.times):
            for host in self.hosts:
                launchers[host].send_signal(signal.SIGTERM)


def moment(point: str, number: int | None = None, rank: int = 2) -> Breakpoint:
    return Breakpoint(id="moment", rank=rank, point=point, number=number, is_of_a_stop=True)


def has_checkpoint(hosts: Sequence[Host]) -> bool:
    return any((hosts[0].base_dir / "checkpoints").glob("step-*/index.json"))


@pytest.mark.parametrize(
    "more",
    # The same code as a script of the user's: the launcher waits as long as it is told to, too.
    [{}, pytest.param({"program": "training/pytorch/train.py"}, marks=pytest.mark.slow)],
    ids=["trainer", "program"],
)
def test_a_host_that_was_not_told_is_no_success(tmp_path: Path, more: dict[str, str]) -> None:
    tell = Teller(1)
    hosts = interrupt(job(tmp_path, stop_wait_s="3", **more), moment(STEP, 2), tell)
    assert time.monotonic() - tell.told_s < STOP_LIMIT_S
    assert [host.exit_code for host in hosts] == [1, 0]
    assert hosts[0].failure is not None
    assert hosts[0].failure.startswith("algo-1: stopped because algo-2 was told to; saved at step ")
    assert "algo-1 itself was not told within 3 s (stop_wait_s)" in hosts[0].failure
    assert hosts[1].failure is None
    assert "stopped because algo-2 was told to; saved at step" in hosts[1].log
    assert [host.model_files for host in hosts] == [[], []]
    assert has_checkpoint(hosts)


@pytest.mark.slow  # two jobs of four ranks for each moment
@pytest.mark.parametrize(
    "where",
    [moment(STEP, 1), moment(SAVING, rank=0), moment(SAVING, rank=3), moment(EVALUATION, 0)],
    ids=str,
)
def test_whenever_it_comes_the_training_goes_on_from_there(
    tmp_path: Path, where: Breakpoint
) -> None:
    every_s = "0.001" if where.point == SAVING else "300"
    tell = Teller(0, 1, times=3)
    hosts = interrupt(job(tmp_path / "stopped", checkpoint_every_s=every_s), where, tell)
    assert time.monotonic() - tell.told_s < STOP_LIMIT_S
    assert [host.exit_code for host in hosts] == [0, 0], [host.log for host in hosts]
    assert [host.model_files for host in hosts] == [[], []]
    resumed = go_on(job(tmp_path / "on"), stored_checkpoints(hosts, tmp_path / "stored"))
    whole = go_on(job(tmp_path / "whole"), None)
    assert [host.exit_code for host in (*resumed, *whole)] == [0] * 4
    assert "Going on from the checkpoint of step" in resumed[0].log
    assert equal_bits(weights(resumed), weights(whole))


@pytest.mark.slow  # a job of four ranks
def test_before_the_training_there_is_nothing_to_save(tmp_path: Path) -> None:
    tell = Teller(0, 1)
    hosts = interrupt(job(tmp_path), moment(START), tell)
    assert time.monotonic() - tell.told_s < STOP_LIMIT_S
    assert [host.exit_code for host in hosts] == [0, 0], [host.log for host in hosts]
    assert "told to stop; nothing was saved since" in hosts[1].log
    assert not has_checkpoint(hosts)


@pytest.mark.slow  # a job of four ranks
@pytest.mark.parametrize("told", [0, 1])
def test_ranks_that_are_gone_before_the_training_are_not_waited_for(
    tmp_path: Path, told: int
) -> None:
    tell = Teller(told)
    alone = job(tmp_path, stop_wait_s="1", collective_timeout_s="600")
    hosts = interrupt(alone, moment(START, rank=2 * told), tell)
    assert time.monotonic() - tell.told_s < STOP_LIMIT_S
    assert hosts[told].exit_code == 0, hosts[told].log
    assert hosts[told].failure is None
    waited = hosts[1 - told]
    assert waited.exit_code == 1
    assert waited.failure is not None
    assert waited.failure.startswith(
        f"{waited.name}: stopped because {hosts[told].name} was told to; nothing was saved since. "
        f"{waited.name} itself was not told within 1 s"
    )


@pytest.mark.slow  # a job of four ranks
def test_a_rank_that_is_killed_while_it_saves_leaves_no_index(tmp_path: Path) -> None:
    def kill(_launchers: Sequence["Popen[str]"], rank: int) -> None:
        os.kill(rank, signal.SIGKILL)

    hosts = interrupt(job(tmp_path, checkpoint_every_s="0.001"), moment(SAVING, rank=2), kill)
    assert [host.exit_code for host in hosts] == [1, 1]
    assert hosts[1].failure is not None
    assert hosts[1].failure.startswith("algo-2, rank 2 was killed by SIGKILL.")
    assert not has_checkpoint(hosts)


def test_without_a_checkpoint_folder_a_stop_says_that_nothing_is_saved(tmp_path: Path) -> None:
    alone = Job(
        folder=tmp_path,
        shards=({"a.jsonl": lines(RECORDS)},),
        validation=lines(RECORDS[:5]),
        # So many epochs that it is still training when the signal has come through.
        hyperparameters={"epochs": "100000", "batch_size": "2", "hash_buckets": "64"},
        devices_per_host=1,
        has_checkpoint_folder=False,
    )
    (host,) = interrupt(alone, moment(STEP, 3, rank=0), Teller(0))
    assert host.exit_code == 0
    assert host.log.count("so no checkpoint is written") == 1
    assert "stopped because algo-1 was told to; nothing saved of step" in host.log
    assert host.model_files == []
