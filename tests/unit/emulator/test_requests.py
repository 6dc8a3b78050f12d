"""What the control plane refuses, and how the service's own clients see it."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
import urllib3
from botocore.exceptions import ClientError
from botocore.validate import ParamValidator

from evenshard.emulator.sagemaker.requests import service_model
from tests.unit.emulator.local import Local, deployed
from tests.unit.emulator.tiny_pipelines import create_pipeline
from tests.unit.simulator.assemblies import definition_of, fail_step

EXECUTION = "arn:aws:sagemaker:us-east-1:123456789012:pipeline/tiny/execution/nosuchone123"
TOKEN = "t" * 32


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    with deployed(tmp_path_factory.mktemp("state")) as found:
        wrong = definition_of({"Name": "Odd", "Type": "QualityCheck", "Arguments": {}})
        create_pipeline(found.sagemaker, "unsupported", wrong)
        needs = [{"Name": "Reason", "Type": "String"}]
        fail = fail_step("No", {"Get": "Parameters.Reason"})
        create_pipeline(found.sagemaker, "needs", definition_of(fail, parameters=needs))
        yield found


def answer(local: Local, operation: str, request: str) -> tuple[int, dict[str, Any]]:
    """Ask without a client, which would refuse some requests itself."""
    headers = {
        "X-Amz-Target": f"SageMaker.{operation}",
        "Content-Type": "application/x-amz-json-1.1",
        "Authorization": "AWS4-HMAC-SHA256 Credential=k/20260101/us-east-1/sagemaker/aws4_request",
    }
    response = urllib3.request("POST", local.server.url, body=request, headers=headers)
    found: dict[str, Any] = response.json()
    return response.status, found


def refused(local: Local, operation: str, **request: object) -> tuple[str, str]:
    """The code and the message of a refusal."""
    with pytest.raises(ClientError) as error:
        getattr(local.sagemaker, operation)(**request)
    said = error.value.response["Error"]
    return said["Code"], said["Message"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ([("Epochs", "3")], "the pipeline has no parameter Epochs. Its parameters are Instance"),
        ([("InstanceCount", "two")], "Parameter InstanceCount=two is not of type Integer"),
        ([("Threshold", "nan")], "Parameter Threshold=nan is not of type Float"),
        ([("Approval", "Perhaps")], "Choose one of PendingManualApproval, Approved"),
        ([("Threshold", "1"), ("Threshold", "1")], "Parameter Threshold is given twice"),
        ([("WaitFor", "x" * 1025)], "Member must have length less than or equal to 1024"),
    ],
)
def test_wrong_parameters(local: Local, parameters: list[tuple[str, str]], message: str) -> None:
    given = [{"Name": name, "Value": value} for name, value in parameters]
    code, text = refused(
        local, "start_pipeline_execution", PipelineName="tiny", PipelineParameters=given
    )
    assert code == "ValidationException"
    assert message in text


def test_a_parameter_without_default_must_be_given(local: Local) -> None:
    code, text = refused(local, "start_pipeline_execution", PipelineName="needs")
    assert (code, "not given: Reason" in text) == ("ValidationException", True)


def test_a_definition_that_is_not_simulated(local: Local) -> None:
    code, text = refused(local, "start_pipeline_execution", PipelineName="unsupported")
    assert code == "ValidationException"
    assert "steps of type QualityCheck are not simulated" in text


@pytest.mark.parametrize("operation", ["start_pipeline_execution", "list_pipeline_executions"])
def test_an_unknown_pipeline(local: Local, operation: str) -> None:
    code, text = refused(local, operation, PipelineName="nobody")
    assert code == "ResourceNotFound"
    assert "Pipeline 'nobody' does not exist in us-east-1" in text


@pytest.mark.parametrize(
    "operation",
    [
        "describe_pipeline_execution",
        "describe_pipeline_definition_for_execution",
        "list_pipeline_execution_steps",
        "list_pipeline_parameters_for_execution",
        "retry_pipeline_execution",
        "stop_pipeline_execution",
    ],
)
def test_an_unknown_execution(local: Local, operation: str) -> None:
    with pytest.raises(local.sagemaker.exceptions.ResourceNotFound, match="does not exist"):
        getattr(local.sagemaker, operation)(PipelineExecutionArn=EXECUTION)


def test_an_unknown_job(local: Local) -> None:
    with pytest.raises(local.sagemaker.exceptions.ResourceNotFound, match="training-job nobody"):
        local.sagemaker.describe_training_job(TrainingJobName="nobody")
    with pytest.raises(local.sagemaker.exceptions.ResourceNotFound, match="processing-job nobody"):
        local.sagemaker.describe_processing_job(ProcessingJobName="nobody")


def test_a_pipelines_arn_is_as_good_as_its_name(local: Local) -> None:
    arn = local.sagemaker.describe_pipeline(PipelineName="tiny")["PipelineArn"]
    found = local.sagemaker.list_pipeline_executions(PipelineName=arn)
    assert found["PipelineExecutionSummaries"] == []


def test_what_only_aws_supports_is_refused_and_not_ignored(local: Local) -> None:
    code, text = refused(
        local,
        "start_pipeline_execution",
        PipelineName="tiny",
        SelectiveExecutionConfig={"SelectedSteps": [{"StepName": "Look"}]},
    )
    assert code == "ValidationException"
    assert "the emulator does not support SelectiveExecutionConfig" in text
    code, text = refused(local, "list_training_jobs", WarmPoolStatusEquals="Available")
    assert "the emulator does not support WarmPoolStatusEquals" in text


def test_a_job_by_itself_is_refused(local: Local) -> None:
    code, text = refused(
        local,
        "create_training_job",
        TrainingJobName="alone",
        OutputDataConfig={"S3OutputPath": "s3://tiny/"},
        ResourceConfig={"VolumeSizeInGB": 1, "InstanceCount": 1, "InstanceType": "ml.m5.large"},
        StoppingCondition={"MaxRuntimeInSeconds": 60},
        RoleArn="arn:aws:iam::123456789012:role/service-role/pipeline",
        AlgorithmSpecification={"TrainingInputMode": "File", "TrainingImage": "image"},
    )
    assert code == "ValidationException"
    assert "Jobs run here as steps" in text


@pytest.mark.parametrize(
    ("operation", "request_", "code", "message"),
    [
        ("DescribePipelineExecution", "{", "SerializationException", "no JSON"),
        ("DescribePipelineExecution", "[]", "SerializationException", "no JSON object"),
        ("DescribePipelineExecution", "{}", "ValidationException", "PipelineExecutionArn"),
        ("ListPipelineExecutionSteps", "{}", "ValidationException", "PipelineExecutionArn"),
        (
            "DescribePipelineExecution",
            '{"PipelineExecutionArn": "short"}',
            "ValidationException",
            "Value 'short' at 'pipelineExecutionArn' failed to satisfy constraint: Member must",
        ),
        (
            "ListPipelineExecutions",
            '{"PipelineName": "tiny", "SortOrder": "Up", "MaxResults": 101}',
            "ValidationException",
            "2 validation errors detected",
        ),
        (
            "ListPipelineExecutions",
            '{"PipelineName": "tiny", "NextToken": "MTI="}',
            "ValidationException",
            "NextToken 'MTI=' is none",
        ),
        (
            "StartPipelineExecution",
            '{"PipelineName": "tiny"}',
            "ValidationException",
            "ClientRequestToken",
        ),
        (
            "StartPipelineExecution",
            '{"PipelineName": 3, "ClientRequestToken": "' + TOKEN + '"}',
            "ValidationException",
            "Invalid type for parameter PipelineName",
        ),
    ],
)
def test_requests_that_no_client_would_send(
    local: Local, operation: str, request_: str, code: str, message: str
) -> None:
    status, said = answer(local, operation, request_)
    assert status == 400
    assert said["__type"] == code
    assert message in said["message"]


def test_answers_are_what_the_model_of_the_service_says(local: Local) -> None:
    arn = local.start()
    local.ended(arn)
    by_execution = f'{{"PipelineExecutionArn": "{arn}"}}'
    requests = {
        "DescribePipelineExecution": by_execution,
        "ListPipelineExecutionSteps": by_execution,
        "ListPipelineParametersForExecution": by_execution,
        "DescribePipelineDefinitionForExecution": by_execution,
        "ListPipelineExecutions": '{"PipelineName": "tiny"}',
        "ListTrainingJobs": "{}",
        "ListProcessingJobs": "{}",
    }
    for operation, request in requests.items():
        status, said = answer(local, operation, request)
        shape = service_model().operation_model(operation).output_shape
        assert shape is not None
        report = ParamValidator().validate(said, shape)
        assert (status, report.generate_report()) == (200, ""), operation


def test_a_fault_of_the_emulator_fails_one_request_only(
    local: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    arn = local.start()
    with monkeypatch.context() as broken:
        broken.setattr("evenshard.emulator.sagemaker.executions._reason", None)
        status, said = answer(
            local, "DescribePipelineExecution", f'{{"PipelineExecutionArn": "{arn}"}}'
        )
    assert (status, said["__type"]) == (500, "InternalFailure")
    assert local.ended(arn)["PipelineExecutionStatus"] == "Succeeded"


def test_executions_of_another_region_are_not_seen(local: Local) -> None:
    arn = local.start()
    local.ended(arn)
    frankfurt = boto3.client(
        "sagemaker",
        endpoint_url=local.server.url,
        region_name="eu-central-1",
        aws_access_key_id="k",
        aws_secret_access_key="s",  # noqa: S106 - nobody's
    )
    with pytest.raises(frankfurt.exceptions.ResourceNotFound, match="in eu-central-1"):
        frankfurt.describe_pipeline_execution(PipelineExecutionArn=arn)
