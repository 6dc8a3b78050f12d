"""Pipelines themselves: found, defined, deleted."""

import json
from collections.abc import Iterator

import pytest
from botocore.exceptions import ClientError

from tests.unit.emulator.local import Local, deployed
from tests.unit.emulator.tiny_pipelines import ROLE_ARN, create_pipeline, tiny_definition


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    with deployed(tmp_path_factory.mktemp("state")) as found:
        yield found


@pytest.mark.parametrize("operation", ["describe_pipeline", "update_pipeline", "delete_pipeline"])
def test_one_that_is_not_there(local: Local, operation: str) -> None:
    with pytest.raises(local.sagemaker.exceptions.ResourceNotFound) as error:
        getattr(local.sagemaker, operation)(PipelineName="nobody")
    assert "Pipeline 'nobody' does not exist. Deploy it" in str(error.value)


def test_an_arn_is_as_good_as_a_name(local: Local) -> None:
    described = local.sagemaker.describe_pipeline(PipelineName="tiny")
    again = local.sagemaker.describe_pipeline(PipelineName=described["PipelineArn"])
    assert again["PipelineName"] == "tiny"


def test_a_definition_may_lie_in_s3(local: Local) -> None:
    text = json.dumps(tiny_definition())
    local.s3.put_object(Bucket="tiny", Key="definition.json", Body=text.encode())
    local.sagemaker.create_pipeline(
        PipelineName="from-s3",
        PipelineDefinitionS3Location={"Bucket": "tiny", "ObjectKey": "definition.json"},
        RoleArn=ROLE_ARN,
        ClientRequestToken="s" * 32,
    )
    described = local.sagemaker.describe_pipeline(PipelineName="from-s3")
    assert json.loads(described["PipelineDefinition"]) == tiny_definition()
    assert local.ended(local.start("from-s3"))["PipelineExecutionStatus"] == "Succeeded"


def test_one_with_running_executions_is_not_deleted(local: Local) -> None:
    create_pipeline(local.sagemaker, "going", tiny_definition())
    arn = local.start("going", WaitFor="never")
    local.wait_for_step(arn, "Look")
    with pytest.raises(local.sagemaker.exceptions.ConflictException) as error:
        local.sagemaker.delete_pipeline(PipelineName="going")
    assert f"has executions that have not ended: {arn}. Stop them" in str(error.value)
    local.sagemaker.stop_pipeline_execution(PipelineExecutionArn=arn)
    local.ended(arn)
    local.sagemaker.delete_pipeline(PipelineName="going")
    with pytest.raises(local.sagemaker.exceptions.ResourceNotFound):
        local.start("going")
    assert local.describe(arn)["PipelineExecutionStatus"] == "Stopped"


def test_requests_that_moto_would_take_as_they_come_are_judged_too(local: Local) -> None:
    with pytest.raises(ClientError, match="Member must satisfy enum value set") as error:
        local.sagemaker.update_model_package(
            ModelPackageArn="arn:aws:sagemaker:us-east-1:123456789012:model-package/tiny/1",
            ModelApprovalStatus="Perhaps",
        )
    assert error.value.response["Error"]["Code"] == "ValidationException"
    with pytest.raises(ClientError, match="regular expression") as error:
        local.sagemaker.describe_pipeline(PipelineName="no name")
    assert error.value.response["Error"]["Code"] == "ValidationException"
