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
from tests.simulation.launched import (
    Host,
    Job,
    finish,
    lay,
    lines,
    running,
    running_launcher,
)
from training.contract.breakpoints import STEP, Breakpoint
from training.contract.layout import PYTORCH, TENSORFLOW

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


def of_framework(job: Job, framework: str) -> Job:
    if framework == PYTORCH:
        return job
    given = {name: v for name, v in job.hyperparameters.items() if name != "hash_buckets"}
    small = {"vocabulary_size": "64", "embedding_dim": "4", "hidden_dim": "4"}
    return replace(job, hyperparameters={**given, **small}, framework=framework)


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


STALLED = (
    "algo-2, rank {} stalled: the other ranks waited for it for {} s (collective_timeout_s). See "
    "what its log says last; if it was only slow, set that higher."
)


@pytest.mark.slow  # the timeout has to pass
@pytest.mark.parametrize(("framework", "wait_s"), [(PYTORCH, 8), (TENSORFLOW, 20)])
def test_a_stalled_rank_is_named_on_every_host(framework: str, wait_s: int, tmp_path: Path) -> None:
    given = of_framework(job(tmp_path, collective_timeout_s=str(wait_s)), framework)
    reached_s: list[float] = []

    def note(_launchers: Sequence["Popen[str]"], _rank: int) -> None:
        reached_s.append(time.monotonic())

    hosts = interrupt(given, moment(3), note, goes_on=False)
    assert time.monotonic() - reached_s[0] < wait_s + 60
    assert [host.exit_code for host in hosts] == [1, 1]
    other, own = failures(hosts)
    assert own == STALLED.format(3, wait_s)
    assert other == f"Secondary failure on algo-1: it lost the other ranks. The cause: {own}"


@pytest.mark.parametrize(
    ("framework", "wait_s"),
    # The launchers do the same with both; only TensorFlow's collectives would wait for ever.
    [pytest.param(PYTORCH, 6, marks=pytest.mark.slow), (TENSORFLOW, 12)],
)
def test_a_rank_alone_on_its_host_is_named_too(framework: str, wait_s: int, tmp_path: Path) -> None:
    given = of_framework(job(tmp_path, collective_timeout_s=str(wait_s)), framework)
    alone = replace(given, devices_per_host=1)
    hosts = interrupt(alone, moment(1), nothing, goes_on=False)
    assert [host.exit_code for host in hosts] == [1, 1]
    waited, stalled = failures(hosts)
    assert stalled == STALLED.format(1, wait_s)
    assert waited == f"Secondary failure on algo-1: it lost the other ranks. The cause: {stalled}"


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


@pytest.mark.parametrize("framework", [PYTORCH, TENSORFLOW])
def test_a_model_folder_that_cannot_be_written_ends_the_job_at_its_start(
    framework: str, tmp_path: Path
) -> None:
    given = of_framework(replace(job(tmp_path), devices_per_host=1), framework)
    hosts = lay(given)
    folder = hosts[0][1] / "model"
    folder.rmdir()
    folder.symlink_to("/proc")  # where nobody may make files, not even root
    with running(given, hosts) as launchers:
        ended = finish(hosts, launchers)
    assert [host.exit_code for host in ended] == [1, 1]
    assert "epoch=1" not in ended[0].log
    chief, other = (host.failure or "" for host in ended)
    assert chief.startswith(
        f"algo-1, rank 0: OutputError: The model cannot be written to {folder}: [Errno "
    )
    assert other == f"Secondary failure on algo-2: it lost the other ranks. The cause: {chief}"


def test_a_data_report_that_cannot_be_written_costs_no_training(tmp_path: Path) -> None:
    alone = replace(job(tmp_path), shards=({"a.jsonl": lines(RECORDS)},), devices_per_host=1)
    hosts = lay(alone)
    folder = hosts[0][1] / "output" / "data"
    folder.rmdir()
    folder.symlink_to("/proc")
    with running(alone, hosts) as launchers:
        (ended,) = finish(hosts, launchers)
    assert ended.exit_code == 1
    assert "epoch=1" not in ended.log
    assert (ended.failure or "").startswith(
        f"algo-1, rank 0: OutputError: The data report cannot be written to {folder / 'algo-1'}: "
    )


def test_a_host_that_never_starts_is_named(tmp_path: Path) -> None:
    hosts = lay(job(tmp_path, collective_timeout_s="2"))
    environment = {
        "EVENSHARD_PEERS": json.dumps({name: ["127.0.0.1:1"] * 2 for name, _ in hosts}),
        "EVENSHARD_BULLETIN": "127.0.0.1:1",
        "EVENSHARD_DEVICES_PER_HOST": "2",
    }
    start_s = time.monotonic()
    with running_launcher(hosts[1][1], environment) as launcher:
        output, _ = launcher.communicate(timeout=100)
    assert time.monotonic() - start_s < 60
    assert launcher.returncode == 1
    assert "algo-2: algo-1 did not start within 2 s (collective_timeout_s) after algo-2." in output
