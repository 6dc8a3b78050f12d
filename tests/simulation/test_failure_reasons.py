"""Whatever ends a training, the failure file of every host names the cause."""

import json
import os
import signal
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.simulation.interrupted import go_on, interrupt, nothing
from tests.simulation.launched import Host, Job, lay, lines, running_launcher
from training.contract.breakpoints import STEP, Breakpoint

if TYPE_CHECKING:
    from subprocess import Popen

pytestmark = pytest.mark.timeout(300)  # torch starts in every rank; two noisy cores

RECORDS = [{"text": f"word{number} same", "label": number % 2} for number in range(60)]


def job(folder: Path, **more: str) -> Job:
    return Job(
        folder=folder,
        shards=({"a.jsonl": lines(RECORDS[:40])}, {"b.jsonl": lines(RECORDS[40:])}),
        validation=lines(RECORDS[:5]),
        hyperparameters={"epochs": "2", "batch_size": "2", "hash_buckets": "64", **more},
    )


def moment(rank: int) -> Breakpoint:
    return Breakpoint(id="moment", rank=rank, point=STEP, number=3)


def failures(hosts: Sequence[Host]) -> list[str]:
    texts = [host.failure or "" for host in hosts]
    assert all(len(text) <= 1024 for text in texts)
    assert [host.model_files for host in hosts] == [[]] * len(hosts)
    return texts


def test_a_killed_rank_is_named_on_every_host(tmp_path: Path) -> None:
    def kill(_launchers: Sequence["Popen[str]"], rank: int) -> None:
        os.kill(rank, signal.SIGKILL)

    hosts = interrupt(job(tmp_path), moment(3), kill)
    assert [host.exit_code for host in hosts] == [1, 1]
    other, own = failures(hosts)
    assert own.startswith("algo-2, rank 3 was killed by SIGKILL. Nothing but a lack of memory")
    assert other == (f"Secondary failure on algo-1: it lost the other ranks. The cause: {own}")


@pytest.mark.slow  # the timeout has to pass
def test_a_stalled_rank_is_named_on_every_host(tmp_path: Path) -> None:
    hosts = interrupt(job(tmp_path, collective_timeout_s="8"), moment(3), nothing, goes_on=False)
    other, own = failures(hosts)
    assert own.startswith("algo-2, rank 3 stalled: the other ranks waited for it for 8 s")
    assert other.startswith("Secondary failure on algo-1: ")
    assert own in other


@pytest.mark.slow  # the timeout, and the wait for ranks that do not notice, have to pass
def test_a_stalled_host_does_not_hang(tmp_path: Path) -> None:
    alone = replace(job(tmp_path, collective_timeout_s="8"), devices_per_host=1)
    hosts = interrupt(alone, moment(1), nothing, goes_on=False)
    waited, stalled = failures(hosts)
    assert waited.startswith("Secondary failure on algo-1: it lost the other ranks.")
    assert "The cause: algo-1: its ranks waited for others in vain for 8 s" in stalled
    assert "Rank 1 had not noticed" in stalled


def test_a_loss_that_is_no_number_is_told_with_its_step_and_records(tmp_path: Path) -> None:
    alone = replace(
        job(tmp_path, learning_rate="1e30"),
        shards=({"a.jsonl": lines(RECORDS)},),
        devices_per_host=1,
    )
    (failure,) = failures(go_on(alone, None))
    assert failure.startswith(
        "algo-1, rank 0: FloatingPointError: The training loss of step 2 is not finite on rank 0 "
        "(its batch: a.jsonl, line "
    )
    assert "learning_rate is 1e+30; take a tenth of it." in failure


def test_a_host_that_never_starts_is_named(tmp_path: Path) -> None:
    hosts = lay(job(tmp_path, collective_timeout_s="2"))
    environment = {
        "EVENSHARD_PEERS": json.dumps({name: ["127.0.0.1:1"] * 2 for name, _ in hosts}),
        "EVENSHARD_BULLETIN": "127.0.0.1:1",
        "EVENSHARD_DEVICES_PER_HOST": "2",
    }
    start_s = time.monotonic()
    with running_launcher(hosts[1][1], environment) as launcher:
        output, _ = launcher.communicate(timeout=60)
    assert time.monotonic() - start_s < 30
    assert launcher.returncode == 1
    assert "algo-2: algo-1 did not start within 2 s (collective_timeout_s) after algo-2." in output
