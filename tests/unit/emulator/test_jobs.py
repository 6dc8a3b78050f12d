"""Jobs as users see them, told from what a journal holds."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from botocore.validate import ParamValidator

from evenshard.emulator.sagemaker.errors import INVALID, ServiceError
from evenshard.emulator.sagemaker.jobs import PROCESSING, TRAINING, JobKind, Jobs
from evenshard.emulator.sagemaker.records import ExecutionRecord, ExecutionRecords
from evenshard.emulator.sagemaker.requests import service_model
from evenshard.simulator.events import (
    HostReady,
    JobEnded,
    JobStarted,
    MetricsSeen,
    StepEnded,
    StepStarted,
)
from evenshard.simulator.journal import Happening, Retried, RunEnded, StopRequested
from tests.unit.simulator.assemblies import processing_step, training_step

REGION = "us-east-1"
ARN = f"arn:aws:sagemaker:{REGION}:123456789012"
TRAIN = "pipelines-abc-Train-local"
MODEL = "s3://results/models/model.tar.gz"
STARTED = (
    StepStarted(name="Train", type="Training"),
    JobStarted(
        step="Train",
        name=TRAIN,
        arn=f"{ARN}:training-job/{TRAIN.lower()}",
        request=training_step(Tags=[{"Key": "a", "Value": "b"}])["Arguments"],
    ),
)
READY = HostReady(step="Train", host="algo-1", objects=1, bytes=1)
COMPLETED = JobEnded(
    step="Train",
    name=TRAIN,
    status="Completed",
    failure_reason=None,
    properties={"ModelArtifacts": {"S3ModelArtifacts": MODEL}},
)


def metrics(**values: float) -> MetricsSeen:
    return MetricsSeen(step="Train", host="algo-1", line="", values=values)


def jobs_of(folder: Path, events: Sequence[Happening]) -> Jobs:
    """The jobs of one execution to which this much has happened."""
    run = folder / "abc"
    run.mkdir()
    records = ExecutionRecords(folder)
    record = ExecutionRecord(
        folder=run,
        arn=f"{ARN}:pipeline/p/execution/abc",
        pipeline_arn=f"{ARN}:pipeline/p",
        token="t",  # noqa: S106 - of a request
        created_s=1.0,
        described={},
    )
    for event in events:
        record.journal.add(event)
    records.add(record)
    return Jobs(records)


def described(jobs: Jobs, kind: JobKind = TRAINING, name: str = TRAIN) -> dict[str, Any]:
    """The answer, which the model of the service finds right."""
    found = jobs.describe(kind, {f"{kind.prefix}JobName": name}, REGION)
    shape = service_model().operation_model(kind.describe).output_shape
    assert shape is not None
    assert ParamValidator().validate(found, shape).generate_report() == ""
    return found


def test_a_completed_training_job_has_its_request_metrics_model_and_times(tmp_path: Path) -> None:
    events: list[Happening] = [
        *STARTED,
        READY,
        metrics(loss=2.0),
        metrics(loss=1.0, accuracy=0.9),
        COMPLETED,
    ]
    found = described(jobs_of(tmp_path, events))
    assert found["TrainingJobStatus"] == found["SecondaryStatus"] == "Completed"
    assert found["ModelArtifacts"] == {"S3ModelArtifacts": MODEL}
    last = {one["MetricName"]: one["Value"] for one in found["FinalMetricDataList"]}
    assert last == {"loss": 1.0, "accuracy": 0.9}
    asked = training_step()["Arguments"]
    for name in ("ResourceConfig", "InputDataConfig", "HyperParameters", "RoleArn"):
        assert found[name] == asked[name]
    assert "Tags" not in found
    assert found["CreationTime"] <= found["TrainingStartTime"] <= found["TrainingEndTime"]
    words = [one["Status"] for one in found["SecondaryStatusTransitions"]]
    assert words == ["Starting", "Downloading", "Training", "Completed"]


@pytest.mark.parametrize(
    ("events", "status", "secondary"),
    [
        ((), "InProgress", "Downloading"),
        ((READY,), "InProgress", "Training"),
        ((READY, StopRequested()), "Stopping", "Stopping"),
        (
            (READY, StopRequested(), replace(COMPLETED, status="Stopped", properties={})),
            "Stopped",
            "Stopped",
        ),
        ((RunEnded(status="Failed", failure_reason="killed"),), "Failed", "Failed"),
    ],
)
def test_the_status_of_a_job_that_is_not_complete(
    tmp_path: Path, events: Sequence[Happening], status: str, secondary: str
) -> None:
    found = described(jobs_of(tmp_path, [*STARTED, *events]))
    assert (found["TrainingJobStatus"], found["SecondaryStatus"]) == (status, secondary)


def test_a_failed_job_says_why(tmp_path: Path) -> None:
    reason = "AlgorithmError: no data, exit code: 1"
    failed = replace(COMPLETED, status="Failed", failure_reason=reason, properties={})
    found = described(jobs_of(tmp_path, [*STARTED, READY, failed]))
    assert found["FailureReason"] == reason
    assert found["SecondaryStatusTransitions"][-1]["StatusMessage"] == reason


def test_a_job_is_stopped_with_its_execution_only(tmp_path: Path) -> None:
    jobs = jobs_of(tmp_path, [*STARTED, READY])
    with pytest.raises(ServiceError, match=f"{TRAIN} is InProgress.*p/execution/abc$") as error:
        jobs.stop(TRAINING, {"TrainingJobName": TRAIN}, REGION)
    assert error.value.code == INVALID


def test_every_try_has_a_job_of_its_own(tmp_path: Path) -> None:
    failed = replace(COMPLETED, status="Failed", failure_reason="no", properties={})
    over = StepEnded(
        name="Train",
        status="Failed",
        seconds=1.0,
        failure_reason="no",
        properties={},
        attempts=1,
    )
    again = replace(STARTED[1], name="second", arn=f"{ARN}:training-job/second")
    ended = RunEnded(status="Failed", failure_reason="no")
    events: list[Happening] = [*STARTED, READY, failed, over, ended, Retried(), STARTED[0], again]
    jobs = jobs_of(tmp_path, events)
    assert described(jobs)["TrainingJobStatus"] == "Failed"
    assert described(jobs, name="second")["TrainingJobStatus"] == "InProgress"
    listed = jobs.listed(TRAINING, {"StatusEquals": "Failed"}, REGION)["TrainingJobSummaries"]
    assert [one["TrainingJobName"] for one in listed] == [TRAIN]
    newest = jobs.listed(TRAINING, {"MaxResults": 1}, REGION)
    assert [one["TrainingJobName"] for one in newest["TrainingJobSummaries"]] == ["second"]
    assert "NextToken" in newest


def test_a_processing_job_says_its_last_words(tmp_path: Path) -> None:
    name = "pipelines-abc-Evaluate-local"
    events: list[Happening] = [
        StepStarted(name="Evaluate", type="Processing"),
        JobStarted(
            step="Evaluate",
            name=name,
            arn=f"{ARN}:processing-job/{name.lower()}",
            request=processing_step()["Arguments"],
        ),
        replace(READY, step="Evaluate"),
        JobEnded(
            step="Evaluate",
            name=name,
            status="Completed",
            failure_reason=None,
            properties={"ExitMessage": "accuracy 0.9"},
        ),
    ]
    jobs = jobs_of(tmp_path, events)
    found = described(jobs, PROCESSING, name)
    assert found["ProcessingJobStatus"] == "Completed"
    assert found["ExitMessage"] == "accuracy 0.9"
    assert jobs.listed(TRAINING, {}, REGION)["TrainingJobSummaries"] == []
    with pytest.raises(ServiceError, match="There is no training-job"):
        described(jobs, TRAINING, name)
