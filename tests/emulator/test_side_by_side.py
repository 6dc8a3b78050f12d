"""Several executions at once: nothing that one has is another's."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.emulator.adding import adding_pipelines, model_of
from tests.unit.emulator.local import Local

NUMBERS = {"ones": [1, 2, 3, 4], "tens": [10, 20, 30]}
_Found = TypeVar("_Found")


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    with adding_pipelines(tmp_path_factory.mktemp("state"), **NUMBERS) as found:
        yield found


def job_of(local: Local, arn: str) -> dict[str, Any]:
    """The training job of an execution as soon as it has printed a metric."""

    def printed() -> dict[str, Any] | None:
        execution = arn.rpartition("/")[2]
        listed = local.sagemaker.list_training_jobs(NameContains=execution)["TrainingJobSummaries"]
        for summary in listed:
            job: dict[str, Any] = local.sagemaker.describe_training_job(
                TrainingJobName=summary["TrainingJobName"]
            )
            if job["FinalMetricDataList"]:
                return job
        return None

    return wait_for(printed)


def wait_for(condition: Callable[[], _Found | None], limit_s: float = 60) -> _Found:
    deadline_s = time.monotonic() + limit_s
    while (found := condition()) is None:
        assert time.monotonic() < deadline_s
        time.sleep(0.2)
    return found


def last_total(job: dict[str, Any]) -> float:
    [metric] = job["FinalMetricDataList"]
    assert metric["MetricName"] == "total"
    return float(metric["Value"])


def executions_of(local: Local, pipeline: str) -> dict[str, str]:
    """ARN -> status."""
    listed = local.sagemaker.list_pipeline_executions(PipelineName=pipeline)
    return {
        one["PipelineExecutionArn"]: one["PipelineExecutionStatus"]
        for one in listed["PipelineExecutionSummaries"]
    }


def test_one_of_three_is_stopped_and_the_others_come_to_their_own_numbers(
    local: Local, tmp_path: Path
) -> None:
    go = str(tmp_path / "go")
    first = local.start("ones", Factor="1", Until=go)
    second = local.start("ones", Factor="7", Until=go)
    third = local.start("tens", Factor="2", Until=go)
    jobs = {arn: job_of(local, arn) for arn in (first, second, third)}
    assert executions_of(local, "ones") == {second: "Executing", first: "Executing"}
    assert executions_of(local, "tens") == {third: "Executing"}
    assert {arn: last_total(job) for arn, job in jobs.items()} == {
        first: 10.0,
        second: 70.0,
        third: 120.0,
    }
    local.sagemaker.stop_pipeline_execution(PipelineExecutionArn=second)
    assert local.ended(second)["PipelineExecutionStatus"] == "Stopped"
    for arn in (first, third):
        assert local.describe(arn)["PipelineExecutionStatus"] == "Executing"
    (tmp_path / "go").touch()
    for arn in (first, third):
        assert local.ended(arn)["PipelineExecutionStatus"] == "Succeeded", local.steps(arn)
    assert executions_of(local, "ones") == {second: "Stopped", first: "Succeeded"}
    for arn, total in ((first, 10), (third, 120)):
        uri = job_of(local, arn)["ModelArtifacts"]["S3ModelArtifacts"]
        name = jobs[arn]["TrainingJobName"]
        assert model_of(local, uri) == {"job": name, "total": total}


def test_executions_that_end_together_register_a_version_each(local: Local) -> None:
    arns = [local.start("tens", Factor=factor) for factor in ("3", "4", "5")]
    versions = {}
    for arn, total in zip(arns, (180, 240, 300), strict=True):
        assert local.ended(arn)["PipelineExecutionStatus"] == "Succeeded", local.steps(arn)
        package = local.sagemaker.describe_model_package(
            ModelPackageName=local.steps(arn)["Register"]["Metadata"]["RegisterModel"]["Arn"]
        )
        execution = arn.rpartition("/")[2]
        assert package["CustomerMetadataProperties"] == {"execution": execution}
        [container] = package["InferenceSpecification"]["Containers"]
        assert model_of(local, container["ModelDataUrl"])["total"] == total
        versions[arn] = package["ModelPackageVersion"]
    assert len(set(versions.values())) == len(arns)
