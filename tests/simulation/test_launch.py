"""The launcher as PID 1: failures, stops, orphans, and what a program of the user's finds."""

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evenshard.simulator.cluster.network import free_ports
from tests.simulation.launched import (
    Host,
    Job,
    finish,
    launch,
    lay,
    lines,
    running,
    running_launcher,
)
from training.contract.layout import FRAMEWORKS

pytestmark = pytest.mark.timeout(300)  # torch starts in every rank; two noisy cores

PROGRAMS = "tests/simulation/programs"
WAIT_S = 150
"""What takes longer hangs."""
SMALL = {"epochs": "1", "hash_buckets": "64"}
RECORD = {"text": "some words", "label": 1}
VALIDATION = lines([RECORD])


def one_host(folder: Path, **hyperparameters: str) -> Job:
    return Job(
        folder=folder,
        shards=({"a.jsonl": lines([RECORD] * 3)},),
        validation=VALIDATION,
        hyperparameters=hyperparameters,
        devices_per_host=1,
    )


def wait_until(condition: Callable[[], object], what: str) -> None:
    deadline_s = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline_s, f"waited in vain for {what}"
        time.sleep(0.05)


def wait_for_line(launcher: subprocess.Popen[str], start: str) -> None:
    assert launcher.stdout is not None
    # The list ends where the output does: when the launcher does.
    assert any(line.startswith(start) for line in iter(launcher.stdout.readline, ""))


def is_alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    return True


# Bad data


@pytest.fixture(scope="module")
def malformed(tmp_path_factory: pytest.TempPathFactory) -> list[Host]:
    bad = VALIDATION * 16 + '{"text": "cut off\n' + VALIDATION * 3
    return launch(
        Job(
            folder=tmp_path_factory.mktemp("malformed"),
            shards=({"part-00000.jsonl": VALIDATION * 20}, {"part-00003.jsonl": bad}),
            validation=VALIDATION,
            hyperparameters=SMALL,
            devices_per_host=1,
        )
    )


def test_a_malformed_line_is_named_by_shard_and_number(malformed: list[Host]) -> None:
    assert malformed[1].exit_code == 1
    assert malformed[1].failure is not None
    assert malformed[1].failure.startswith("algo-2, rank 1: RecordError: ")
    assert "part-00003.jsonl, line 17" in malformed[1].failure


def test_hosts_that_only_lost_a_peer_say_so(malformed: list[Host]) -> None:
    assert malformed[0].exit_code == 1
    assert malformed[0].failure is not None
    assert malformed[0].failure.startswith("Secondary failure on algo-1: it lost the other ranks.")


def test_failures_leave_no_model_and_no_traceback(malformed: list[Host]) -> None:
    assert [host.model_files for host in malformed] == [[], []]
    assert not any("Traceback" in host.log for host in malformed)


def test_weights_that_run_away_in_the_last_step_are_no_model(tmp_path: Path) -> None:
    (host,) = launch(one_host(tmp_path, batch_size="100", epochs="1", learning_rate="1e30"))
    assert host.exit_code == 1
    assert host.failure is not None
    assert "The validation loss of epoch 1 is nan" in host.failure
    assert "learning_rate is 1e+30" in host.failure
    assert list((host.base_dir / "model").iterdir()) == []


def test_a_record_without_a_label_is_named(tmp_path: Path) -> None:
    unlabelled = lines([RECORD, {"text": "nobody judged this"}])
    job = one_host(tmp_path, **SMALL)
    (host,) = launch(
        Job(
            folder=tmp_path,
            shards=({"a.jsonl": unlabelled},),
            validation=VALIDATION,
            hyperparameters=job.hyperparameters,
            devices_per_host=1,
        )
    )
    assert host.exit_code == 1
    assert host.failure == (
        "algo-1, rank 0: RecordError: a.jsonl, line 2: the record has no label (it has: text). "
        'Write {"text": ..., "label": 0}.'
    )


# Bad hyperparameters: no rank is started for these


@pytest.mark.parametrize(
    ("hyperparameters", "expected"),
    [
        ({"epochz": "3"}, "There is no hyperparameter 'epochz'"),
        ({"epochs": "three"}, "Hyperparameter epochs is 'three'. Allowed: an integer >= 1 and"),
        ({"epochs": '"0"'}, "Hyperparameter epochs is '0'. Allowed: an integer >= 1 and"),
        ({"program": "nowhere.py"}, "Hyperparameter program is 'nowhere.py'. Allowed: the path"),
    ],
)
def test_bad_hyperparameters(
    tmp_path: Path, hyperparameters: Mapping[str, str], expected: str
) -> None:
    (host,) = launch(one_host(tmp_path, **hyperparameters))
    assert host.exit_code == 1
    assert host.failure is not None
    assert host.failure.startswith(expected)
    assert host.log == f"Failed: {host.failure}\n"


def test_a_container_without_a_contract_says_what_is_missing(tmp_path: Path) -> None:
    with running_launcher(tmp_path, {}) as launcher:
        output, _ = launcher.communicate(timeout=WAIT_S)
    assert launcher.returncode == 1
    assert "resourceconfig.json does not exist" in output
    assert "resourceconfig.json does not exist" in (tmp_path / "output" / "failure").read_text()


# Programs of the user's


def test_a_program_that_ends_without_a_model_has_failed(tmp_path: Path) -> None:
    (host,) = launch(one_host(tmp_path, program=f"{PROGRAMS}/no_model.py"))
    assert host.exit_code == 1
    assert host.failure is not None
    assert host.failure.startswith("algo-1: the training ended without a model, ")
    assert host.log.splitlines()[1] == "done"


@pytest.fixture(scope="module")
def first_process(tmp_path_factory: pytest.TempPathFactory) -> tuple[Host, dict[str, Any]]:
    """A program under a launcher that, as PID 1 does, inherits orphans."""
    folder = tmp_path_factory.mktemp("first")
    (host,) = launch(one_host(folder, program=f"{PROGRAMS}/first_process.py", warp='"nine"'))
    assert host.exit_code == 0, host.log
    report = json.loads((host.base_dir / "model" / "report.json").read_text())
    return host, report


def test_orphans_are_reaped(first_process: tuple[Host, dict[str, Any]]) -> None:
    assert first_process[1]["short_orphan_reaped"]


def test_nothing_outlives_the_launcher(first_process: tuple[Host, dict[str, Any]]) -> None:
    assert not is_alive(first_process[1]["long_orphan"])


def test_a_program_finds_what_the_toolkit_would_set(
    first_process: tuple[Host, dict[str, Any]],
) -> None:
    host, report = first_process
    environment = report["environment"]
    assert json.loads(environment["SM_HPS"])["warp"] == "nine"
    assert environment["SM_HP_WARP"] == "nine"
    assert json.loads(environment["SM_HOSTS"]) == ["algo-1"]
    assert environment["SM_CHANNEL_TRAIN"] == str(host.base_dir / "input" / "data" / "train")
    assert environment["WORLD_SIZE"] == environment["LOCAL_WORLD_SIZE"] == "1"
    assert environment["OMP_NUM_THREADS"] == "1"
    assert report["arguments"] == ["--warp", "nine"]
    assert json.loads(environment["SM_USER_ARGS"]) == report["arguments"]


# Ranks and launchers that are killed or told to stop


def waiting_job(folder: Path, **hyperparameters: str) -> Job:
    return Job(
        folder=folder,
        shards=({},),
        validation=VALIDATION,
        hyperparameters={"program": f"{PROGRAMS}/waiting.py", **hyperparameters},
    )


def process_ids(base_dir: Path) -> list[int]:
    """Of both ranks and of what started them, once all have written theirs."""
    files = [base_dir / "model" / name for name in ("process-0", "process-1", "parent")]
    wait_until(lambda: all(file.exists() for file in files), "the ranks")
    return [int(file.read_text()) for file in files]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_killed_rank_is_named(tmp_path: Path, framework: str) -> None:
    (host,) = launch(replace(waiting_job(tmp_path, kill="1"), framework=framework))
    assert host.exit_code == 1
    assert host.failure is not None
    assert host.failure.startswith("algo-1, rank 1 was killed by SIGKILL.")
    assert not any(is_alive(process_id) for process_id in process_ids(host.base_dir))


@pytest.mark.parametrize(
    ("framework", "number", "exit_code"),
    [
        ("pytorch", signal.SIGTERM, 0),
        ("pytorch", signal.SIGINT, 130),
        ("tensorflow", signal.SIGTERM, 0),
    ],
)
def test_a_stop_ends_all_and_is_no_success(
    tmp_path: Path, framework: str, number: signal.Signals, exit_code: int
) -> None:
    job = replace(waiting_job(tmp_path), framework=framework)
    laid = lay(job)
    with running(job, laid) as launchers:
        alive = process_ids(laid[0][1])
        launchers[0].send_signal(number)
        (host,) = finish(laid, launchers)
    assert host.exit_code == exit_code
    stopped_by_hand = (
        f"algo-1: stopped by {number.name} before the training was done. There is no model."
    )
    assert host.failure == (stopped_by_hand if exit_code else None)
    assert not any(is_alive(process_id) for process_id in alive)
    assert "Traceback" not in host.log


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_ranks_do_not_outlive_what_started_them(tmp_path: Path, framework: str) -> None:
    job = replace(waiting_job(tmp_path), framework=framework)
    laid = lay(job)
    with running(job, laid) as launchers:
        *ranks, parent = process_ids(laid[0][1])
        os.kill(parent, signal.SIGKILL)
        (host,) = finish(laid, launchers)
    assert host.exit_code == 128 + signal.SIGKILL
    assert host.failure is not None
    assert not any(is_alive(rank) for rank in ranks)


def test_a_stopped_trainer_leaves_no_model(tmp_path: Path) -> None:
    job = one_host(tmp_path, epochs="100000", hash_buckets="64")
    laid = lay(job)
    base_dir = laid[0][1]
    # What a training that is stopped while it writes would leave.
    (base_dir / "model" / "model.safetensors").touch()
    with running(job, laid) as launchers:
        wait_for_line(launchers[0], "epoch=1;")
        launchers[0].send_signal(signal.SIGTERM)
        (host,) = finish(laid, launchers)
    assert host.exit_code == 0
    assert host.failure is None
    assert "algo-1: stopped because algo-1 was told to; saved at step" in host.log
    assert host.model_files == []
    assert "Traceback" not in host.log


def test_a_stop_while_names_are_waited_for_reaches_the_other_hosts(tmp_path: Path) -> None:
    job = replace(one_host(tmp_path, stop_wait_s="1"), shards=({}, {}))
    base_dirs = [base_dir for _, base_dir in lay(job)]
    names = ["127.0.0.1", "second-host.invalid", "third-host.invalid"]
    for name, base_dir in zip(names, base_dirs, strict=False):
        resources = {"current_host": name, "hosts": names, "network_interface_name": "lo"}
        (base_dir / "input" / "config" / "resourceconfig.json").write_text(json.dumps(resources))
    environment = {
        "EVENSHARD_DEVICES_PER_HOST": "1",
        "EVENSHARD_BULLETIN": f"127.0.0.1:{free_ports(1)[0]}",
    }
    with (
        running_launcher(base_dirs[0], environment) as chief,
        running_launcher(base_dirs[1], environment) as told,
    ):
        for launcher, name in ((chief, names[0]), (told, names[1])):
            wait_for_line(launcher, f"{name}: waiting for the names of 3 hosts")
        told.send_signal(signal.SIGTERM)
        for launcher in (told, chief):
            launcher.communicate(timeout=WAIT_S)
    assert (told.returncode, chief.returncode) == (0, 1)
    assert not (base_dirs[1] / "output" / "failure").exists()
    assert (
        (base_dirs[0] / "output" / "failure")
        .read_text()
        .startswith(
            "127.0.0.1: stopped because second-host.invalid was told to; nothing was saved since."
        )
    )


def test_a_stop_while_devices_are_counted_reaches_the_other_hosts(tmp_path: Path) -> None:
    job = one_host(tmp_path, stop_wait_s="1", collective_timeout_s="30")
    laid = lay(replace(job, shards=({}, {})))
    peers = {
        name: [f"127.0.0.1:{port}"] for (name, _), port in zip(laid, free_ports(2), strict=True)
    }
    environment = {
        "EVENSHARD_PEERS": json.dumps(peers),
        "EVENSHARD_BULLETIN": f"127.0.0.1:{free_ports(1)[0]}",
    }
    asked = tmp_path / "asked"
    driver = nvidia_smi(tmp_path, f"touch {asked}; sleep 1; echo 'GPU 0: one'")
    with (
        running_launcher(laid[0][1], {**environment, "EVENSHARD_DEVICES_PER_HOST": "1"}) as chief,
        running_launcher(laid[1][1], {**environment, **driver}) as told,
    ):
        wait_until(asked.exists, "the devices to be counted")
        told.send_signal(signal.SIGTERM)
        for launcher in (told, chief):
            launcher.communicate(timeout=WAIT_S)
    assert (told.returncode, chief.returncode) == (0, 1)
    assert not (laid[1][1] / "output" / "failure").exists()
    why = (laid[0][1] / "output" / "failure").read_text()
    assert why.startswith("algo-1: stopped because algo-2 was told to; nothing was saved since.")


def nvidia_smi(folder: Path, does: str) -> dict[str, str]:
    """Make a program of this name out of a shell's commands; the variables that find it."""
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{does}\n")
    program.chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def broken_driver(folder: Path) -> dict[str, str]:
    return nvidia_smi(folder, "echo 'GPU 3 is lost' >&2; exit 15")


def test_a_host_whose_driver_fails_is_not_waited_for(tmp_path: Path) -> None:
    job = replace(one_host(tmp_path), shards=({}, {}))
    laid = lay(job)
    peers = {
        name: [f"127.0.0.1:{port}"] for (name, _), port in zip(laid, free_ports(2), strict=True)
    }
    environment = {
        "EVENSHARD_PEERS": json.dumps(peers),
        "EVENSHARD_BULLETIN": f"127.0.0.1:{free_ports(1)[0]}",
    }
    driver = broken_driver(tmp_path)
    devices = {"EVENSHARD_DEVICES_PER_HOST": "1"}
    with (
        running_launcher(laid[0][1], {**environment, **devices}) as other,
        running_launcher(laid[1][1], {**environment, **driver}) as launcher,
    ):
        for each in (launcher, other):
            each.communicate(timeout=WAIT_S)
    assert (launcher.returncode, other.returncode) == (1, 1)
    cause = (laid[1][1] / "output" / "failure").read_text()
    assert cause.startswith("`nvidia-smi -L` exited with 15: GPU 3 is lost")
    assert (laid[0][1] / "output" / "failure").read_text() == (
        f"Secondary failure on algo-1: it lost the other ranks. The cause: {cause}"
    )


def test_a_board_that_cannot_be_kept_hides_no_reason(tmp_path: Path) -> None:
    (_, base_dir), _ = lay(replace(one_host(tmp_path), shards=({}, {})))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        board = {"EVENSHARD_BULLETIN": f"127.0.0.1:{taken.getsockname()[1]}"}
        peers = {"EVENSHARD_PEERS": "{}", **board, **broken_driver(tmp_path)}
        with running_launcher(base_dir, peers) as launcher:
            output, _ = launcher.communicate(timeout=WAIT_S)
    assert launcher.returncode == 1
    assert "Traceback" not in output
    why = (base_dir / "output" / "failure").read_text()
    assert why.startswith("`nvidia-smi -L` exited with 15: GPU 3 is lost")


def test_a_failure_file_that_cannot_be_written_hides_no_reason(tmp_path: Path) -> None:
    ((_, base_dir),) = lay(one_host(tmp_path, epochz="3"))
    shutil.rmtree(base_dir / "output")
    (base_dir / "output").symlink_to("/proc")  # where nobody may make files, not even root
    with running_launcher(base_dir, {"EVENSHARD_DEVICES_PER_HOST": "1"}) as launcher:
        output, _ = launcher.communicate(timeout=WAIT_S)
    assert launcher.returncode == 1
    assert "Failed: There is no hyperparameter 'epochz'" in output
    assert "failure cannot be written: " in output
    assert "Traceback" not in output


def test_a_stop_ends_the_wait_for_names(tmp_path: Path) -> None:
    ((_, base_dir),) = lay(one_host(tmp_path))
    hosts = ["algo-1.invalid", "algo-2.invalid"]
    resources = {"current_host": hosts[0], "hosts": hosts}
    (base_dir / "input" / "config" / "resourceconfig.json").write_text(json.dumps(resources))
    with running_launcher(base_dir, {"EVENSHARD_DEVICES_PER_HOST": "1"}) as launcher:
        wait_for_line(launcher, "algo-1.invalid: waiting for the names of 2 hosts")
        launcher.send_signal(signal.SIGTERM)
        launcher.communicate(timeout=WAIT_S)
    assert launcher.returncode == 0
    assert not (base_dir / "output" / "failure").exists()
