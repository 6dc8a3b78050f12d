"""Executions through boto3: started, watched, stopped, tried again."""

import json
import os
import signal
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from tests.unit.emulator.local import Local, deployed
from tests.unit.emulator.tiny_pipelines import create_pipeline, tiny_definition
from tests.unit.simulator.assemblies import Json


@pytest.fixture(scope="module")
def state_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def local(state_folder: Path) -> Iterator[Local]:
    with deployed(state_folder) as found:
        yield found


def test_a_pipeline_runs_its_deployed_function_and_registers_a_model(local: Local) -> None:
    arn = local.start(InstanceCount="4", Approval="Approved")
    assert local.ended(arn)["PipelineExecutionStatus"] == "Succeeded"
    steps = local.steps(arn)
    assert list(steps) == ["Look", "Gate", "Register"]
    assert steps["Look"]["StepDisplayName"] == "Look at the data"
    assert steps["Look"]["Metadata"]["Lambda"]["OutputParameters"] == [
        {"Name": "score", "Value": "1.0"},
        {"Name": "greeting", "Value": "hello"},
    ]
    assert steps["Gate"]["Metadata"] == {"Condition": {"Outcome": "True"}}
    assert {step["StepStatus"] for step in steps.values()} == {"Succeeded"}
    assert {step["AttemptCount"] for step in steps.values()} == {1}
    assert all(step["StartTime"] <= step["EndTime"] for step in steps.values())
    package = local.sagemaker.describe_model_package(
        ModelPackageName=steps["Register"]["Metadata"]["RegisterModel"]["Arn"]
    )
    assert package["ModelApprovalStatus"] == "Approved"
    assert package["CustomerMetadataProperties"] == {"execution": arn.rpartition("/")[2]}


def test_the_last_step_is_listed_first(local: Local) -> None:
    arn = local.start()
    local.ended(arn)
    listed = local.sagemaker.list_pipeline_execution_steps(PipelineExecutionArn=arn)
    names = [step["StepName"] for step in listed["PipelineExecutionSteps"]]
    assert names == ["Register", "Gate", "Look"]


def test_a_failed_gate_says_why_on_the_step_and_cannot_be_retried(local: Local) -> None:
    arn = local.start(Threshold="0.75")
    described = local.ended(arn)
    assert described["PipelineExecutionStatus"] == "Failed"
    assert described["FailureReason"] == "Step failure: One or multiple steps failed."
    reject = local.steps(arn)["Reject"]
    assert reject["StepStatus"] == "Failed"
    assert reject["FailureReason"] == "score 0.5 is below 0.75"
    assert reject["Metadata"] == {"Fail": {"ErrorMessage": "score 0.5 is below 0.75"}}
    with pytest.raises(local.sagemaker.exceptions.ClientError, match="its Fail step Reject") as no:
        local.sagemaker.retry_pipeline_execution(PipelineExecutionArn=arn)
    assert no.value.response["Error"]["Code"] == "ValidationException"


def test_a_function_that_raises_fails_its_step(local: Local) -> None:
    arn = local.start(InstanceCount="9")
    local.ended(arn)
    assert local.steps(arn)["Look"]["FailureReason"] == (
        "ValueError: too many hosts: set InstanceCount to 8 or less"
    )


def test_a_retry_keeps_what_succeeded_and_tries_the_rest_again(local: Local) -> None:
    local.s3.delete_object(Bucket="tiny", Key="model.tar.gz")
    arn = local.start()
    local.ended(arn)
    before = local.steps(arn)
    assert before["Register"]["FailureReason"] == (
        "ValidationException: there is no object s3://tiny/model.tar.gz."
    )
    local.put("model.tar.gz")
    token = "r" * 32
    for _ in range(2):  # the second one says the same and starts nothing
        local.sagemaker.retry_pipeline_execution(PipelineExecutionArn=arn, ClientRequestToken=token)
    described = local.ended(arn)
    assert described["PipelineExecutionStatus"] == "Succeeded"
    assert "FailureReason" not in described
    after = local.steps(arn)
    assert after["Look"] == before["Look"]
    assert after["Gate"] == before["Gate"]
    assert after["Register"]["AttemptCount"] == 2
    with pytest.raises(local.sagemaker.exceptions.ClientError, match="is Succeeded"):
        local.sagemaker.retry_pipeline_execution(PipelineExecutionArn=arn)


def test_steps_are_listed_while_they_run_and_a_stopped_execution_goes_on(local: Local) -> None:
    arn = local.start(WaitFor="go-on")
    running = local.wait_for_step(arn, "Look")
    assert running["StepStatus"] == "Executing"
    assert "EndTime" not in running
    with pytest.raises(local.sagemaker.exceptions.ConflictException, match="is Executing"):
        local.sagemaker.retry_pipeline_execution(PipelineExecutionArn=arn)
    local.sagemaker.stop_pipeline_execution(PipelineExecutionArn=arn)
    assert local.ended(arn)["PipelineExecutionStatus"] == "Stopped"
    assert local.steps(arn)["Look"]["StepStatus"] == "Stopped"
    with pytest.raises(local.sagemaker.exceptions.ConflictException, match="is Stopped"):
        local.sagemaker.stop_pipeline_execution(PipelineExecutionArn=arn)
    local.put("go-on")
    local.sagemaker.retry_pipeline_execution(PipelineExecutionArn=arn)
    assert local.ended(arn)["PipelineExecutionStatus"] == "Succeeded"
    assert local.steps(arn)["Look"]["AttemptCount"] == 2


def test_a_second_execution_waits_its_turn_and_can_be_stopped_meanwhile(local: Local) -> None:
    first = local.start(WaitFor="second-stopped")
    local.wait_for_step(first, "Look")
    second = local.start()
    assert local.describe(second)["PipelineExecutionStatus"] == "Executing"
    local.sagemaker.stop_pipeline_execution(PipelineExecutionArn=second)
    assert local.describe(second)["PipelineExecutionStatus"] == "Stopped"
    assert local.steps(second) == {}
    local.put("second-stopped")
    assert local.ended(first)["PipelineExecutionStatus"] == "Succeeded"


def test_an_execution_whose_process_is_killed_has_failed(local: Local) -> None:
    arn = local.start(WaitFor="killed")
    local.wait_for_step(arn, "Look")
    os.kill(local.worker(arn), signal.SIGKILL)
    described = local.ended(arn)
    assert described["PipelineExecutionStatus"] == "Failed"
    assert described["FailureReason"].startswith("Step failure")
    look = local.steps(arn)["Look"]
    assert look["StepStatus"] == "Failed"
    assert "the execution's process ended with code -9" in look["FailureReason"]
    local.put("killed")
    local.sagemaker.retry_pipeline_execution(PipelineExecutionArn=arn)
    assert local.ended(arn)["PipelineExecutionStatus"] == "Succeeded"
    assert local.steps(arn)["Look"]["AttemptCount"] == 2


def test_parameters_and_definition_are_those_of_the_start(local: Local) -> None:
    arn = local.start(InstanceCount="3")
    local.ended(arn)
    local.sagemaker.update_pipeline(PipelineName="tiny", PipelineDefinition='{"Steps": []}')
    try:
        found = local.sagemaker.describe_pipeline_definition_for_execution(PipelineExecutionArn=arn)
    finally:
        create = tiny_definition()
        local.sagemaker.update_pipeline(PipelineName="tiny", PipelineDefinition=_text(create))
    assert found["PipelineDefinition"] == _text(tiny_definition())
    listed = local.sagemaker.list_pipeline_parameters_for_execution(PipelineExecutionArn=arn)
    assert {one["Name"]: one["Value"] for one in listed["PipelineParameters"]} == {
        "InstanceCount": "3",
        "Threshold": "0.5",
        "Approval": "PendingManualApproval",
        "WaitFor": "nothing",
    }


def test_one_token_starts_one_execution(local: Local) -> None:
    create_pipeline(local.sagemaker, "once", tiny_definition())
    request = {"PipelineName": "once", "ClientRequestToken": "b" * 32}
    arns = {
        local.sagemaker.start_pipeline_execution(**request)["PipelineExecutionArn"]
        for _ in range(3)
    }
    assert len(arns) == 1
    local.ended(arns.pop())


def test_executions_are_listed_in_pages_the_newest_first(local: Local) -> None:
    create_pipeline(local.sagemaker, "listed", tiny_definition())
    arns = [local.start("listed", InstanceCount="9") for _ in range(3)]
    for arn in arns:
        local.ended(arn)
    pages = local.sagemaker.get_paginator("list_pipeline_executions").paginate(
        PipelineName="listed", PaginationConfig={"PageSize": 2}
    )
    found = [page["PipelineExecutionSummaries"] for page in pages]
    assert [len(page) for page in found] == [2, 1]
    summaries = [summary for page in found for summary in page]
    assert [summary["PipelineExecutionArn"] for summary in summaries] == arns[::-1]
    assert summaries[0]["PipelineExecutionStatus"] == "Failed"
    reason = "Step failure: One or multiple steps failed."
    assert summaries[0]["PipelineExecutionFailureReason"] == reason
    # Days apart: boto3 sends times in whole seconds.
    day = timedelta(days=1)
    since = summaries[0]["StartTime"]
    for bounds, count in (
        ({"CreatedAfter": since - day}, 3),
        ({"CreatedAfter": since + day}, 0),
        ({"CreatedBefore": since - day}, 0),
    ):
        bounded = local.sagemaker.list_pipeline_executions(PipelineName="listed", **bounds)
        assert len(bounded["PipelineExecutionSummaries"]) == count


def _text(definition: Json) -> str:
    return json.dumps(definition)
