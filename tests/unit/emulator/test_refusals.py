"""What SageMaker is asked for in vain: a code and words at once, and never a server's 500."""

from collections.abc import Iterator

import pytest
from botocore.exceptions import ClientError

from tests.unit.emulator.local import Local, deployed
from tests.unit.emulator.tiny_pipelines import ROLE_ARN

ARN = "arn:aws:sagemaker:us-east-1:123456789012"


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    with deployed(tmp_path_factory.mktemp("state")) as found:
        yield found


@pytest.mark.parametrize(
    ("operation", "request_", "code", "message"),
    [
        (
            "update_pipeline_execution",
            {"PipelineExecutionArn": f"{ARN}:pipeline/tiny/execution/abcdefghijkl"},
            "ValidationException",
            "The emulator has no UpdatePipelineExecution.",
        ),
        (
            "list_tags",
            {"ResourceArn": f"{ARN}:pipeline/nobody"},
            "ValidationException",
            "The emulator's ListTags cannot answer this request (AttributeError: ",
        ),
        (
            "create_pipeline",
            {"PipelineName": "tiny", "PipelineDefinition": "{}", "RoleArn": ROLE_ARN},
            "ValidationException",
            "Pipeline names must be unique",
        ),
        (
            "create_pipeline",
            {"PipelineName": "new", "PipelineDefinition": "no JSON", "RoleArn": ROLE_ARN},
            "ValidationException",
            "new: the definition is no JSON: ",
        ),
        (
            "update_pipeline",
            {"PipelineName": "tiny", "PipelineDefinition": "[]"},
            "ValidationException",
            "tiny: the definition is no JSON object.",
        ),
        (
            "describe_model_package",
            {"ModelPackageName": "nobody"},
            "ValidationException",
            "Model package nobody does not exist. list-model-packages says",
        ),
        (
            "delete_model_package_group",
            {"ModelPackageGroupName": "nobody"},
            "ValidationException",
            "Model package group nobody does not exist.",
        ),
        (
            "stop_training_job",
            {"TrainingJobName": "nobody"},
            "ResourceNotFound",
            "There is no training-job nobody in us-east-1.",
        ),
    ],
)
def test_refusals(
    local: Local, operation: str, request_: dict[str, str], code: str, message: str
) -> None:
    with pytest.raises(ClientError) as error:
        getattr(local.sagemaker, operation)(**request_)
    said = error.value.response["Error"]
    assert said["Code"] == code
    assert said["Message"].startswith(message)
    assert error.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
