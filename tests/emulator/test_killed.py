"""SIGKILL for whoever runs hosts: they end as well, and the execution has failed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import boto3

from evenshard.emulator.local_aws import local_aws
from evenshard.simulator.marked import marked_processes
from evenshard.simulator.result import KILLED
from tests.emulator.adding import (
    DEVICES_PER_HOST,
    adding_definition,
    adding_pipelines,
    put_pipelines,
)
from tests.unit.emulator.tiny_pipelines import Client
from tests.unit.simulator.assemblies import Json, write_assembly

COMMAND = str(Path(sys.executable).parent / "evenshard")
SPLITS = ("Train", "Validation", "Test")


def client(service: str, url: str) -> Client:
    made: Client = boto3.client(
        service,  # type: ignore[call-overload] # one of many names
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="nobody",
        aws_secret_access_key="nobody",  # noqa: S106 - nobody's
    )
    return made


def processes_of(run: Path) -> list[int]:
    """All processes of both hosts of Train."""
    hosts = run.resolve() / "steps" / "Train" / "hosts"
    markers = [f"SAGEMAKER_BASE_DIR={hosts / host}" for host in ("algo-1", "algo-2")]
    return [process_id for marker in markers for process_id in marked_processes(marker)]


def wait_for_training(run: Path, limit_s: float = 60) -> None:
    log = run / "steps" / "Train" / "hosts" / "algo-1" / "log.txt"
    deadline_s = time.monotonic() + limit_s
    while not (log.exists() and "step=1 " in log.read_text()):
        assert time.monotonic() < deadline_s
        time.sleep(0.1)
    # On each host a launcher, what starts its ranks, and these.
    assert len(processes_of(run)) == 2 * (2 + DEVICES_PER_HOST)


def wait_for_the_end(run: Path, limit_s: float = 20) -> None:
    deadline_s = time.monotonic() + limit_s
    while left := processes_of(run):
        assert time.monotonic() < deadline_s, left
        time.sleep(0.1)


def test_the_worker_of_an_execution(tmp_path: Path) -> None:
    with adding_pipelines(tmp_path, sums=[1, 2, 3]) as local:
        arn = local.start("sums", Until=str(tmp_path / "go"))
        run = tmp_path / "runs" / arn.rpartition("/")[2]
        wait_for_training(run)
        os.kill(local.worker(arn), signal.SIGKILL)
        assert local.ended(arn)["PipelineExecutionStatus"] == "Failed"
        wait_for_the_end(run)
        train = local.steps(arn)["Train"]
        assert train["StepStatus"] == "Failed"
        assert "the execution's process ended with code -9" in train["FailureReason"]
        [summary] = local.sagemaker.list_training_jobs()["TrainingJobSummaries"]
        job = local.sagemaker.describe_training_job(TrainingJobName=summary["TrainingJobName"])
        assert job["TrainingJobStatus"] == "Failed"
        assert job["FailureReason"] == train["FailureReason"]
        (tmp_path / "go").touch()
        local.sagemaker.retry_pipeline_execution(PipelineExecutionArn=arn)
        assert local.ended(arn)["PipelineExecutionStatus"] == "Succeeded"
        assert local.steps(arn)["Train"]["AttemptCount"] == 2


def test_the_emulator(tmp_path: Path) -> None:
    options = ("--json", "--port", "0", "--devices-per-host", str(DEVICES_PER_HOST))
    emulator = subprocess.Popen(
        [COMMAND, "emulate", *options], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    with emulator:
        assert emulator.stdout is not None
        url = json.loads(emulator.stdout.readline())["url"]
        sagemaker = client("sagemaker", url)
        put_pipelines(client("s3", url), sagemaker, {"sums": [1, 2, 3]})
        started = sagemaker.start_pipeline_execution(
            PipelineName="sums",
            PipelineParameters=[{"Name": "Until", "Value": str(tmp_path / "go")}],
        )
        arn = started["PipelineExecutionArn"]
        run = tmp_path / ".evenshard" / "runs" / arn.rpartition("/")[2]
        wait_for_training(run)
        emulator.kill()
    wait_for_the_end(run)
    with local_aws(state_folder=tmp_path / ".evenshard") as server:
        described = server.client("sagemaker").describe_pipeline_execution(PipelineExecutionArn=arn)
    assert described["PipelineExecutionStatus"] in ("Failed", "Stopped")


def test_a_simulation(tmp_path: Path) -> None:
    definition: Json = adding_definition("s3://evenshard-data/train/", "sums")
    definition["Parameters"] += [
        {"Name": f"{split}DataUri", "Type": "String", "DefaultValue": "s3://b/"} for split in SPLITS
    ]
    write_assembly(tmp_path / "assembly", definition)
    (tmp_path / "data" / "train").mkdir(parents=True)
    for number in range(2):
        (tmp_path / "data" / "train" / f"part-{number}.txt").write_text("1\n")
    options = {
        "--data": "data",
        "--assembly": "assembly",
        "--devices-per-host": str(DEVICES_PER_HOST),
        "--param": f"Until={tmp_path / 'go'}",
    }
    process = subprocess.Popen(
        [COMMAND, "simulate", "--json", *(word for pair in options.items() for word in pair)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        runs = tmp_path / ".evenshard" / "runs"
        deadline_s = time.monotonic() + 30
        while not (found := list(runs.glob("*"))):
            assert time.monotonic() < deadline_s
            time.sleep(0.1)
        [run] = found
        wait_for_training(run)
        assert not (run / "result.json").exists()
        process.kill()
    wait_for_the_end(run)
    while not (run / "result.json").exists():
        assert time.monotonic() < deadline_s + 60
        time.sleep(0.1)
    document = json.loads((run / "result.json").read_text())
    assert (document["status"], document["failure_reason"]) == ("Failed", KILLED)
    [train] = document["steps"]
    assert (train["name"], train["status"]) == ("Train", "Failed")
    assert train["failure_reason"] == KILLED
