"""Pipelines whose training is `programs/adding.py`: real hosts, launchers and ranks, in seconds."""

import io
import json
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evenshard.emulator.local_aws import local_aws
from tests.unit.emulator.local import Local
from tests.unit.emulator.tiny_pipelines import ROLE_ARN, Client, create_pipeline
from tests.unit.simulator.assemblies import Json, channel, definition_of, training_step

BUCKET = "numbers"
DEVICES_PER_HOST = 2
_IMAGE = "123456789012.dkr.ecr.us-east-1.amazonaws.com/image:1"
_PARAMETERS: list[Json] = [
    {"Name": "Factor", "Type": "String", "DefaultValue": "1"},
    {"Name": "Until", "Type": "String", "DefaultValue": "/"},
]


def adding_definition(data_uri: str, group: str) -> Json:
    """Two hosts add up numbers; the sum is registered."""
    specification = {
        "TrainingImage": _IMAGE,
        "TrainingInputMode": "File",
        "ContainerEntrypoint": ["python3", "-m", "training.launch", "tensorflow"],
        "MetricDefinitions": [{"Name": "total", "Regex": "total=([0-9]+)"}],
    }
    train = training_step(
        AlgorithmSpecification=specification,
        HyperParameters={
            "program": "tests/emulator/programs/adding.py",
            "factor": {"Get": "Parameters.Factor"},
            "until": {"Get": "Parameters.Until"},
        },
        InputDataConfig=[channel("train", data_uri, "ShardedByS3Key")],
        OutputDataConfig={"S3OutputPath": f"s3://{BUCKET}/models"},
        RoleArn=ROLE_ARN,
    )
    model = {"Get": "Steps.Train.ModelArtifacts.S3ModelArtifacts"}
    register = {
        "Name": "Register",
        "Type": "RegisterModel",
        "Arguments": {
            "ModelPackageGroupName": group,
            "InferenceSpecification": {"Containers": [{"Image": _IMAGE, "ModelDataUrl": model}]},
            "CustomerMetadataProperties": {"execution": {"Get": "Execution.PipelineExecutionId"}},
        },
    }
    return definition_of(train, register, parameters=_PARAMETERS)


@contextmanager
def adding_pipelines(state_folder: Path, **numbers: list[int]) -> Iterator[Local]:
    """Serve, with a pipeline and a model package group for each list of numbers, one per shard."""
    with local_aws(
        state_folder=state_folder, devices_per_host=DEVICES_PER_HOST, at_once=3
    ) as server:
        local = Local(server=server, sagemaker=server.client("sagemaker"), s3=server.client("s3"))
        put_pipelines(local.s3, local.sagemaker, numbers)
        yield local


def put_pipelines(s3: Client, sagemaker: Client, numbers: Mapping[str, list[int]]) -> None:
    """Make a bucket, and for each list of numbers what `adding_pipelines` says."""
    s3.create_bucket(Bucket=BUCKET)
    for name, shards in numbers.items():
        for number, value in enumerate(shards):
            key = f"{name}/part-{number}.txt"
            s3.put_object(Bucket=BUCKET, Key=key, Body=str(value).encode())
        sagemaker.create_model_package_group(ModelPackageGroupName=name)
        create_pipeline(sagemaker, name, adding_definition(f"s3://{BUCKET}/{name}/", name))


def model_of(local: Local, uri: str) -> dict[str, Any]:
    """What an execution has learnt."""
    key = uri.removeprefix(f"s3://{BUCKET}/")
    content = local.s3.get_object(Bucket=BUCKET, Key=key)["Body"].read()
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        file = archive.extractfile("model.json")
        assert file is not None
        found: dict[str, Any] = json.load(file)
    return found
