"""A training that is stopped through the API, and goes on from its checkpoints in S3."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from evenshard.emulator.local_aws import local_aws
from evenshard.emulator.server import Emulator
from evenshard.simulator.deployment.assembly import synthesize
from tests.emulator.by_hand import ByHand, put, upload
from tests.simulation.small_mail import write_splits

Client = Any
"""Of boto3."""
_Found = TypeVar("_Found")
pytestmark = pytest.mark.timeout(240)  # synthesizes, then trains in four processes


@dataclass(frozen=True, kw_only=True)
class Place:
    """A server with a pipeline and its data."""

    server: Emulator
    deployed: ByHand
    folder: Path


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("emulated")
    synthesize(folder / "assembly")
    with local_aws(state_folder=folder / "state", devices_per_host=2) as server:
        deployed = put(server, folder / "assembly", "pytorch")
        upload(server, write_splits(folder / "data"), deployed.bucket, "data/")
        yield Place(server=server, deployed=deployed, folder=folder)


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
