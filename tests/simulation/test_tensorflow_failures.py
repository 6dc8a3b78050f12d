"""How a job of the TensorFlow trainer ends when something goes wrong: with a reason."""

import signal
import subprocess
import time
from pathlib import Path

import pytest

from evenshard.simulator.marked import kill_marked
from tests.simulation.launched import Job, finish, launch, lay, lines, running

pytestmark = pytest.mark.timeout(400)  # TensorFlow starts in every rank; two noisy cores

RECORD = {"text": "some words", "label": 1}
MOST_S = 100
"""Until all hosts have noticed that one is gone."""


def wait_for_first_epoch(launcher: subprocess.Popen[str]) -> None:
    assert launcher.stdout is not None
    assert any(line.startswith("epoch=1;") for line in iter(launcher.stdout.readline, ""))


def test_a_lost_host_ends_the_job_with_a_reason(tmp_path: Path) -> None:
    shard = lines([RECORD] * 8)
    job = Job(
        folder=tmp_path,
        shards=({"a.jsonl": shard}, {"b.jsonl": shard + lines([RECORD])}),
        validation=shard,
        hyperparameters={"epochs": "100000", "batch_size": "4"},
        devices_per_host=1,
        framework="tensorflow",
    )
    laid = lay(job)
    with running(job, laid) as launchers:
        wait_for_first_epoch(launchers[0])
        kill_marked(f"SAGEMAKER_BASE_DIR={laid[1][1]}")
        start_s = time.monotonic()
        chief, lost = finish(laid, launchers)
    assert time.monotonic() - start_s < MOST_S
    assert (chief.exit_code, lost.exit_code) == (1, -9)
    assert chief.failure is not None
    assert chief.failure.startswith("Secondary failure on algo-1: it lost the other ranks.")
    assert "UnavailableError" in chief.failure
    assert chief.model_files == []
    assert "Traceback" not in chief.log


def test_a_stop_ends_the_trainer_at_once(tmp_path: Path) -> None:
    # TensorFlow takes SIGTERM over and only notes it.
    shard = lines([RECORD] * 8)
    job = Job(
        folder=tmp_path,
        shards=({"a.jsonl": shard},),
        validation=shard,
        hyperparameters={"epochs": "100000"},
        devices_per_host=1,
        framework="tensorflow",
    )
    laid = lay(job)
    with running(job, laid) as launchers:
        wait_for_first_epoch(launchers[0])
        launchers[0].send_signal(signal.SIGTERM)
        start_s = time.monotonic()
        (host,) = finish(laid, launchers)
    assert time.monotonic() - start_s < MOST_S
    assert host.model_files == []
    assert "stopped because algo-1 was told to" in host.log
    assert "Traceback" not in host.log


def test_a_bad_record_is_named_as_pytorch_names_it(tmp_path: Path) -> None:
    (host,) = launch(
        Job(
            folder=tmp_path,
            shards=({"a.jsonl": lines([RECORD, {"text": "nobody judged this"}])},),
            validation=lines([RECORD]),
            hyperparameters={"epochs": "1"},
            devices_per_host=1,
            framework="tensorflow",
        )
    )
    assert host.exit_code == 1
    assert host.failure == (
        "algo-1, rank 0: RecordError: a.jsonl, line 2: the record has no label (it has: text). "
        'Write {"text": ..., "label": 0}.'
    )
    assert "Traceback" not in host.log
    assert host.model_files == []


def test_hyperparameters_of_the_other_trainer_start_nothing(tmp_path: Path) -> None:
    (host,) = launch(
        Job(
            folder=tmp_path,
            shards=({},),
            validation=lines([RECORD]),
            hyperparameters={"hash_buckets": "64"},
            framework="tensorflow",
        )
    )
    assert host.exit_code == 1
    assert host.log == f"Failed: {host.failure}\n"
    assert host.failure is not None
    assert host.failure.startswith("Hyperparameter hash_buckets is the pytorch trainer's")


def alone(folder: Path, shards: dict[str, str], validation: str) -> Job:
    return Job(
        folder=folder,
        shards=(shards,),
        validation=validation,
        hyperparameters={"epochs": "1"},
        devices_per_host=1,
        framework="tensorflow",
    )


def test_no_records_at_all_are_refused_as_pytorch_refuses_them(tmp_path: Path) -> None:
    (host,) = launch(alone(tmp_path, {}, lines([RECORD])))
    assert host.exit_code == 1
    assert host.failure is not None
    assert host.failure.startswith(
        "algo-1, rank 0: RecordError: The 1 ranks have no step to take: there are no training "
    )
    assert "Traceback" not in host.log


def test_texts_without_any_word_are_trained_on(tmp_path: Path) -> None:
    records = lines([{"text": "...", "label": 1}, {"text": "", "label": 0}])
    (host,) = launch(alone(tmp_path, {"a.jsonl": records}, lines([RECORD])))
    assert host.exit_code == 0, host.log
    assert "epoch=1;" in host.log
    assert "config.json" in host.model_files
