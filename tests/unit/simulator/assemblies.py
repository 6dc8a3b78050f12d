"""Small cloud assemblies and definitions, written by hand, for tests that need no CDK."""

import json
from pathlib import Path
from typing import Any

PIPELINE_NAME = "small-pytorch"

Json = dict[str, Any]


def write_json(file: Path, content: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content), encoding="utf-8")


def write_assembly(folder: Path, definition: Json, *, name: str = PIPELINE_NAME) -> Path:
    """One stack with a pipeline and a function `Function`, whose code is `handler.py`."""
    resources = {
        "Pipeline": {
            "Type": "AWS::SageMaker::Pipeline",
            "Properties": {
                "PipelineName": name,
                "PipelineDefinition": {"PipelineDefinitionBody": json.dumps(definition)},
            },
        },
        "Function": {
            "Type": "AWS::Lambda::Function",
            "Properties": {
                "Code": {"S3Bucket": "assets", "S3Key": "abc.zip"},
                "Handler": "handler.main",
                "Timeout": 30,
                "Environment": {"Variables": {"GREETING": "hello"}},
            },
        },
    }
    write_stacks(folder, {"stack": {"Resources": resources}})
    asset = {
        "source": {"path": "asset.abc", "packaging": "zip"},
        "destinations": {"d": {"bucketName": "assets", "objectKey": "abc.zip"}},
    }
    write_json(folder / "stack.assets.json", {"files": {"abc": asset}})
    (folder / "asset.abc").mkdir()
    return folder


def write_stacks(folder: Path, templates: dict[str, Json]) -> None:
    artifacts = {}
    for name, template in templates.items():
        write_json(folder / f"{name}.template.json", template)
        artifacts[name] = {
            "type": "aws:cloudformation:stack",
            "properties": {"templateFile": f"{name}.template.json"},
        }
    write_json(folder / "manifest.json", {"artifacts": artifacts})


def definition_of(*steps: Json, parameters: list[Json] | None = None) -> Json:
    return {"Version": "2020-12-01", "Parameters": parameters or [], "Steps": list(steps)}


def fail_step(name: str, message: object, **fields: object) -> Json:
    return {"Name": name, "Type": "Fail", "Arguments": {"ErrorMessage": message}, **fields}


def function_step(name: str, arguments: Json, outputs: dict[str, str], **fields: object) -> Json:
    return {
        "Name": name,
        "Type": "Lambda",
        "FunctionArn": "arn:aws:lambda:us-east-1:123456789012:function:local-Function",
        "Arguments": arguments,
        "OutputParameters": [{"OutputName": n, "OutputType": t} for n, t in outputs.items()],
        **fields,
    }


def condition_step(
    name: str, conditions: list[Json], on_true: list[Json], on_false: list[Json]
) -> Json:
    arguments = {"Conditions": conditions, "IfSteps": on_true, "ElseSteps": on_false}
    return {"Name": name, "Type": "Condition", "Arguments": arguments}


def training_step(name: str = "Train", **arguments: object) -> Json:
    """A job of two hosts over s3://data/train/, sharded, and s3://data/validation/, replicated."""
    base: Json = {
        "AlgorithmSpecification": {
            "TrainingImage": "123456789012.dkr.ecr.us-east-1.amazonaws.com/image:1",
            "TrainingInputMode": "File",
            "ContainerEntrypoint": ["python3", "-m", "training.launch", "pytorch"],
            "MetricDefinitions": [{"Name": "train:loss", "Regex": "loss=([0-9.]+)"}],
        },
        "HyperParameters": {"epochs": "3"},
        "InputDataConfig": [
            channel("train", "s3://data/train/", "ShardedByS3Key"),
            channel("validation", "s3://data/validation/", "FullyReplicated"),
        ],
        "OutputDataConfig": {"S3OutputPath": "s3://results/models"},
        "ResourceConfig": {
            "InstanceCount": 2,
            "InstanceType": "ml.g5.xlarge",
            "VolumeSizeInGB": 30,
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": 60},
        "RoleArn": "arn:aws:iam::123456789012:role/job",
    }
    return {"Name": name, "Type": "Training", "Arguments": {**base, **arguments}}


def channel(name: str, uri: object, distribution: str) -> Json:
    source = {"S3DataType": "S3Prefix", "S3Uri": uri, "S3DataDistributionType": distribution}
    return {"ChannelName": name, "DataSource": {"S3DataSource": source}}


def processing_step(name: str = "Evaluate", **arguments: object) -> Json:
    """A job of one host that reads s3://data/test/ and writes one output."""
    base: Json = {
        "ProcessingResources": {
            "ClusterConfig": {
                "InstanceCount": 1,
                "InstanceType": "ml.m5.xlarge",
                "VolumeSizeInGB": 30,
            }
        },
        "AppSpecification": {
            "ImageUri": "123456789012.dkr.ecr.us-east-1.amazonaws.com/image:1",
            "ContainerEntrypoint": ["python3", "-m", "training.steps.evaluate", "pytorch"],
        },
        "ProcessingInputs": [
            {
                "InputName": "test",
                "S3Input": {
                    "S3Uri": "s3://data/test/",
                    "LocalPath": "/opt/ml/processing/input/test",
                    "S3DataType": "S3Prefix",
                    "S3InputMode": "File",
                },
            }
        ],
        "ProcessingOutputConfig": {
            "Outputs": [
                {
                    "OutputName": "evaluation",
                    "S3Output": {
                        "S3Uri": "s3://results/evaluation",
                        "LocalPath": "/opt/ml/processing/output/evaluation",
                        "S3UploadMode": "EndOfJob",
                    },
                }
            ]
        },
    }
    files = [{"PropertyFileName": "Report", "OutputName": "evaluation", "FilePath": "report.json"}]
    return {
        "Name": name,
        "Type": "Processing",
        "Arguments": {**base, **arguments},
        "PropertyFiles": files,
    }
