"""examples/submit_with_sdk.py, up to the request that would be sent."""

import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders
from botocore.exceptions import NoRegionError
from botocore.httpsession import URLLib3Session

from examples import submit_with_sdk
from examples.submit_with_sdk import Submission, parsed, submit
from infra.pipeline.definition import pipeline_definition
from infra.pipeline.deployment import Deployment
from infra.pipeline.validation import problems
from infra.settings import load_settings

ROLE = "arn:aws:iam::123456789012:role/evenshard-training"
KEY = "arn:aws:kms:eu-west-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
IMAGE = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/train:1"
ARGUMENTS = ("--image", IMAGE, "--role", ROLE, "--bucket", "b")
Sent = Callable[..., dict[str, Any]]
ARN = "arn:aws:sagemaker:eu-west-1:123456789012:training-job/x"


class Body(io.BytesIO):
    """A response's bytes, as botocore reads them."""

    def stream(self) -> Iterator[bytes]:
        yield self.read()


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """Submits with more arguments; gives the body of the CreateTrainingJob request."""
    bodies: list[dict[str, Any]] = []

    def answer(_: URLLib3Session, request: AWSPreparedRequest) -> AWSResponse:
        assert isinstance(request.body, bytes)
        body = json.loads(request.body)
        bodies.append(body)
        told = {"TrainingJobName": body["TrainingJobName"], "TrainingJobArn": ARN}
        return AWSResponse(request.url, 200, HTTPHeaders(), Body(json.dumps(told).encode()))

    monkeypatch.setattr(URLLib3Session, "send", answer)
    session = boto3.Session(
        region_name="eu-west-1",
        aws_access_key_id="x",
        aws_secret_access_key="x",  # noqa: S106 - nothing is called
    )

    def submitted(*arguments: str) -> dict[str, Any]:
        assert submit(parsed([*ARGUMENTS, *arguments]), session) == ARN
        created, described = bodies
        assert described == {"TrainingJobName": created["TrainingJobName"]}
        return created

    return submitted


def step(framework: str) -> dict[str, Any]:
    """The arguments of the pipeline's Train step, on the same bucket."""
    deployment = Deployment(
        framework=framework,
        bucket_name="b",
        key_arn=KEY,
        image_uri=IMAGE,
        training_role_arn=ROLE,
        evaluation_role_arn=ROLE,
        preflight_function_arn="arn:aws:lambda:eu-west-1:123456789012:function:preflight",
        model_package_group_name="g",
    )
    arguments: dict[str, Any] = pipeline_definition(load_settings("dev"), deployment)["Steps"][1][
        "Arguments"
    ]
    return arguments


@pytest.mark.parametrize("framework", ["pytorch", "tensorflow"])
def test_the_job_is_the_pipeline_s_without_the_pipeline(sent: Sent, framework: str) -> None:
    body, train = sent("--framework", framework), step(framework)
    assert body["AlgorithmSpecification"] == train["AlgorithmSpecification"]
    assert body["EnableNetworkIsolation"] is train["EnableNetworkIsolation"] is True
    assert body["RoleArn"] == ROLE
    assert body["ResourceConfig"] == {
        "InstanceType": "ml.g5.12xlarge",
        "InstanceCount": 2,
        "VolumeSizeInGB": 100,
    }


def test_the_train_channel_is_sharded_and_validation_is_not(sent: Sent) -> None:
    channels = {
        one["ChannelName"]: one["DataSource"]["S3DataSource"] for one in sent()["InputDataConfig"]
    }
    assert channels == {
        "train": {
            "S3DataType": "S3Prefix",
            "S3Uri": "s3://b/data/train/",
            "S3DataDistributionType": "ShardedByS3Key",
        },
        "validation": {
            "S3DataType": "S3Prefix",
            "S3Uri": "s3://b/data/validation/",
            "S3DataDistributionType": "FullyReplicated",
        },
    }


def test_the_service_and_our_rules_have_nothing_to_say(sent: Sent) -> None:
    body = sent("--key", KEY, "--hyperparameter", "epochs=10", "--hyperparameter", "task=a.b:C")
    assert body["HyperParameters"] == {"epochs": "10", "task": "a.b:C"}
    name = body.pop("TrainingJobName")
    assert name.startswith("pipelines-by-hand-")
    definition = {
        "Version": "2020-12-01",
        "Steps": [
            {
                "Name": "Train",
                "Type": "Training",
                "Arguments": body,
                "RetryPolicies": [
                    {
                        "ExceptionType": ["Step.THROTTLING"],
                        "IntervalSeconds": 1,
                        "BackoffRate": 1,
                        "MaxAttempts": 1,
                    }
                ],
            }
        ],
    }
    found = problems(definition)
    # Of a job, not of executions: its prefix is its own name's.
    assert [one.rule for one in found] == ["checkpoint-per-execution"]
    assert body["CheckpointConfig"] == {"S3Uri": f"s3://b/checkpoints/{name}/"}
    assert body["OutputDataConfig"] == {
        "S3OutputPath": f"s3://b/executions/{name}/train",
        "KmsKeyId": KEY,
    }


def test_tags_are_the_job_s(sent: Sent) -> None:
    body = sent("--tag", "evenshard:environment=evenshard-dev", "--tag", "owner=a=b")
    assert body["Tags"] == [
        {"Key": "evenshard:environment", "Value": "evenshard-dev"},
        {"Key": "owner", "Value": "a=b"},
    ]


def test_without_tags_none_are_sent(sent: Sent) -> None:
    assert "Tags" not in sent()


def test_without_a_key_none_is_named(sent: Sent) -> None:
    assert "KmsKeyId" not in sent()["OutputDataConfig"]


def test_data_may_lie_elsewhere(sent: Sent) -> None:
    body = sent("--data", "s3://b/data/2026-11", "--instance-count", "3")
    uris = [one["DataSource"]["S3DataSource"]["S3Uri"] for one in body["InputDataConfig"]]
    assert uris == ["s3://b/data/2026-11/train/", "s3://b/data/2026-11/validation/"]
    assert body["ResourceConfig"]["InstanceCount"] == 3


@pytest.mark.parametrize("given", ["epochs", "=3"])
def test_a_hyperparameter_has_a_name_and_a_value(
    given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parsed([*ARGUMENTS, "--hyperparameter", given])
    assert "give NAME=VALUE" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "given", "said"),
    [
        ("--bucket", "s3://b/", "give the bucket's name alone"),
        ("--instance-count", "0", "give a whole number, 1 or more"),
        ("--max-runtime-s", "-5", "give a whole number, 1 or more"),
        ("--instance-count", "two", "give a whole number, 1 or more"),
        ("--tag", "owner", "give NAME=VALUE"),
        ("--tag", "owner=", "leaves empty values out"),
    ],
)
def test_what_only_the_service_would_refuse_is_wrong_usage(
    option: str, given: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parsed([*ARGUMENTS, f"{option}={given}"])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_a_refusal_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Submission) -> str:
        raise NoRegionError

    monkeypatch.setattr(submit_with_sdk, "submit", refuse)
    with pytest.raises(SystemExit) as ended:
        submit_with_sdk.main(ARGUMENTS)
    assert ended.value.code == "Not submitted: You must specify a region."
