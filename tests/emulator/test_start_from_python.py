"""The script of docs/start-from-python.md, as it stands there, and what users then look at."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from evenshard.emulator.local_aws import local_aws
from evenshard.emulator.server import Emulator
from evenshard.repository import ROOT
from evenshard.simulator.deployment.assembly import synthesize
from tests.emulator.by_hand import ByHand, put, upload
from tests.simulation.small_mail import write_splits

Client = Any
"""Of boto3."""
_Found = TypeVar("_Found")
pytestmark = pytest.mark.timeout(240)  # synthesizes, then trains in four processes
DOCUMENT = ROOT / "docs" / "start-from-python.md"
PARAMETERS = ("InstanceCount=2", "Epochs=2", "BatchSize=8", "LearningRate=0.05")


@dataclass(frozen=True, kw_only=True)
class Place:
    """A server with a pipeline and its data."""

    server: Emulator
    deployed: ByHand
    folder: Path


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What the script did."""

    server: Emulator
    deployed: ByHand
    lines: list[str]

    @property
    def arn(self) -> str:
        return self.lines[0]

    def ask(self, operation: str, **request: object) -> dict[str, Any]:
        answer: dict[str, Any] = getattr(self.server.client("sagemaker"), operation)(**request)
        return answer

    def job_name(self, step: str, kind: str) -> str:
        """The name of the job of a step; the ARN has it in lower case."""
        listed = self.ask("list_pipeline_execution_steps", PipelineExecutionArn=self.arn)
        [found] = [one for one in listed["PipelineExecutionSteps"] if one["StepName"] == step]
        lower = found["Metadata"][f"{kind}Job"]["Arn"].rpartition("/")[2]
        jobs = self.ask(f"list_{kind.lower()}_jobs")[f"{kind}JobSummaries"]
        [name] = [job[f"{kind}JobName"] for job in jobs if job[f"{kind}JobName"].lower() == lower]
        return str(name)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("emulated")
    synthesize(folder / "assembly")
    with local_aws(state_folder=folder / "state", devices_per_host=2) as server:
        deployed = put(server, folder / "assembly", "pytorch")
        upload(server, write_splits(folder / "data"), deployed.bucket, "data/")
        yield Place(server=server, deployed=deployed, folder=folder)


@pytest.fixture(scope="module")
def ran(place: Place) -> Ran:
    script = place.folder / "start.py"
    [text] = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    script.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script), place.deployed.pipeline, *PARAMETERS],
        env={**os.environ, **place.server.environment()},
        cwd=place.folder,
        text=True,
        capture_output=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return Ran(server=place.server, deployed=place.deployed, lines=done.stdout.splitlines())


def test_it_shows_steps_metrics_and_the_approved_model(ran: Ran) -> None:
    assert f":pipeline/{ran.deployed.pipeline}/execution/" in ran.arn
    for step in ("Preflight", "Train", "Evaluate", "QualityGate", "Register"):
        assert f"{step} Succeeded" in ran.lines
    assert "Train Executing" in ran.lines, "no step was seen while it ran"
    metrics = {line.split()[0] for line in ran.lines if line.startswith("  ")}
    assert {"train:loss", "validation:accuracy"} <= metrics
    assert re.fullmatch(r"arn:.*:model-package/evenshard-dev-pytorch/1 Approved", ran.lines[-1])


def test_the_training_job_is_described_as_on_aws(ran: Ran) -> None:
    name = ran.job_name("Train", "Training")
    job = ran.ask("describe_training_job", TrainingJobName=name)
    assert job["TrainingJobStatus"] == job["SecondaryStatus"] == "Completed"
    assert job["ResourceConfig"]["InstanceCount"] == 2
    assert job["HyperParameters"]["epochs"] == "2"
    [train, _] = job["InputDataConfig"]
    source = train["DataSource"]["S3DataSource"]
    assert source["S3DataDistributionType"] == "ShardedByS3Key"
    assert job["TrainingStartTime"] < job["TrainingEndTime"]
    bucket, _, key = job["ModelArtifacts"]["S3ModelArtifacts"].removeprefix("s3://").partition("/")
    model = ran.server.client("s3").head_object(Bucket=bucket, Key=key)
    assert model["ServerSideEncryption"] == "aws:kms"


def test_the_evaluation_says_its_last_words(ran: Ran) -> None:
    name = ran.job_name("Evaluate", "Processing")
    job = ran.ask("describe_processing_job", ProcessingJobName=name)
    assert job["ProcessingJobStatus"] == "Completed"
    assert "accuracy" in job["ExitMessage"]


def test_the_package_keeps_the_datas_digest_when_it_is_approved(ran: Ran) -> None:
    listed = ran.ask("list_model_packages", ModelPackageGroupName=ran.deployed.group)
    [package] = listed["ModelPackageSummaryList"]
    assert package["ModelApprovalStatus"] == "Approved"
    found = ran.ask("describe_model_package", ModelPackageName=package["ModelPackageArn"])
    properties = found["CustomerMetadataProperties"]
    assert properties["execution"] == ran.arn.rpartition("/")[2]
    assert re.fullmatch(r"[0-9a-f]{16,64}", properties["data_digest"])


@pytest.mark.slow  # trains twice in four processes, from their start
def test_a_stopped_training_goes_on_from_its_checkpoints(place: Place) -> None:
    sagemaker = place.server.client("sagemaker")
    values = {"InstanceCount": "2", "Epochs": "400", "BatchSize": "8", "LearningRate": "0.05"}
    arn = sagemaker.start_pipeline_execution(
        PipelineName=place.deployed.pipeline,
        PipelineParameters=[{"Name": n, "Value": v} for n, v in values.items()],
    )["PipelineExecutionArn"]
    execution = arn.rpartition("/")[2]

    def job(number: int) -> dict[str, Any]:
        """The training job of a try, as soon as it has printed a metric."""
        found = _jobs(sagemaker, execution)
        described = found[number - 1] if len(found) >= number else {"FinalMetricDataList": []}
        return described if described["FinalMetricDataList"] else {}

    _wait(lambda: job(1))
    sagemaker.stop_pipeline_execution(PipelineExecutionArn=arn)
    _wait(lambda: _status(sagemaker, arn) == "Stopped")
    stopped = job(1)
    assert (stopped["TrainingJobStatus"], stopped["SecondaryStatus"]) == ("Stopped", "Stopped")
    bucket, _, prefix = stopped["CheckpointConfig"]["S3Uri"].removeprefix("s3://").partition("/")
    saved = place.server.client("s3").list_objects_v2(Bucket=bucket, Prefix=prefix)
    assert saved["KeyCount"] > 0
    sagemaker.retry_pipeline_execution(PipelineExecutionArn=arn)
    again = _wait(lambda: job(2))
    assert again["TrainingJobName"] != stopped["TrainingJobName"]
    log = place.folder / "state" / "runs" / execution / "steps" / "Train" / "hosts" / "algo-1"
    assert "Going on from the checkpoint of step" in (log / "log.txt").read_text(encoding="utf-8")
    sagemaker.stop_pipeline_execution(PipelineExecutionArn=arn)
    _wait(lambda: _status(sagemaker, arn) == "Stopped")


def _jobs(sagemaker: Client, execution: str) -> list[dict[str, Any]]:
    """The training jobs of an execution, the first one first."""
    listed = sagemaker.list_training_jobs(NameContains=execution, SortOrder="Ascending")
    names = [job["TrainingJobName"] for job in listed["TrainingJobSummaries"]]
    return [sagemaker.describe_training_job(TrainingJobName=name) for name in names]


def _status(sagemaker: Client, arn: str) -> str:
    described = sagemaker.describe_pipeline_execution(PipelineExecutionArn=arn)
    return str(described["PipelineExecutionStatus"])


def _wait(condition: Callable[[], _Found], limit_s: float = 100) -> _Found:
    """What `condition` gives as soon as that is something."""
    deadline = time.monotonic() + limit_s
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.3)
    return found
