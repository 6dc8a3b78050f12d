"""The definition that the tests start from."""

import json

from tests.definition.edits import Json, as_text, get

ROLE = "arn:aws:iam::123456789012:role/evenshard-job"
KEY = "arn:aws:kms:eu-west-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
RETRY = {"ExceptionType": ["Step.SERVICE_FAULT", "Step.THROTTLING"], "MaxAttempts": 5}
IMAGE = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/evenshard:1"
MODEL = {"Get": "Steps.Train.ModelArtifacts.S3ModelArtifacts"}


def baseline() -> Json:
    """One execution as the design draws it, with plain values instead of tokens."""
    definition = {
        "Version": "2020-12-01",
        "Metadata": {},
        "Parameters": _PARAMETERS,
        "Steps": [_preflight(), _train(), _evaluate(), _quality_gate()],
    }
    # Through JSON: no two places share an object, so an edit changes one place.
    return json.loads(json.dumps(definition))


_PARAMETERS: Json = [
    {"Name": "TrainDataUri", "Type": "String", "DefaultValue": "s3://bucket/data/train/"},
    {"Name": "ValidationDataUri", "Type": "String", "DefaultValue": "s3://bucket/data/validation/"},
    {"Name": "TestDataUri", "Type": "String", "DefaultValue": "s3://bucket/data/test/"},
    {
        "Name": "InstanceType",
        "Type": "String",
        "DefaultValue": "ml.g5.12xlarge",
        "EnumValues": ["ml.g5.12xlarge", "ml.g5.48xlarge"],
    },
    {"Name": "InstanceCount", "Type": "Integer", "DefaultValue": 2},
    {"Name": "EvaluationInstanceType", "Type": "String", "DefaultValue": "ml.m5.xlarge"},
    {"Name": "Epochs", "Type": "Integer", "DefaultValue": 3},
    {"Name": "LearningRate", "Type": "Float", "DefaultValue": 0.01},
    {
        "Name": "AllowEmptyHosts",
        "Type": "String",
        "DefaultValue": "false",
        "EnumValues": ["false", "true"],
    },
    {"Name": "QualityThreshold", "Type": "Float", "DefaultValue": 0.95},
    {
        "Name": "ModelApprovalStatus",
        "Type": "String",
        "DefaultValue": "PendingManualApproval",
        "EnumValues": ["PendingManualApproval", "Approved", "Rejected"],
    },
]


def _preflight() -> Json:
    return {
        "Name": "Preflight",
        "Type": "Lambda",
        "FunctionArn": "arn:aws:lambda:eu-west-1:123456789012:function:preflight",
        "Arguments": {
            "train_data_uri": get("Parameters.TrainDataUri"),
            "instance_count": get("Parameters.InstanceCount"),
            "allow_empty_hosts": get("Parameters.AllowEmptyHosts"),
        },
        "OutputParameters": [
            {"OutputName": "data_digest", "OutputType": "String"},
            {"OutputName": "object_count", "OutputType": "Integer"},
        ],
    }


def _channel(name: str, parameter: str, distribution: str) -> Json:
    return {
        "ChannelName": name,
        "DataSource": {
            "S3DataSource": {
                "S3DataType": "S3Prefix",
                "S3Uri": get(f"Parameters.{parameter}"),
                "S3DataDistributionType": distribution,
            }
        },
    }


def _train() -> Json:
    return {
        "Name": "Train",
        "Type": "Training",
        "Arguments": {
            "AlgorithmSpecification": {
                "TrainingImage": IMAGE,
                "TrainingInputMode": "File",
                "ContainerEntrypoint": ["python3", "-m", "training.launch", "pytorch"],
                "MetricDefinitions": [
                    {"Name": "train:loss", "Regex": r"train_loss=([0-9.]+)"},
                    {"Name": "validation:accuracy", "Regex": r"validation_accuracy=([0-9.]+)"},
                ],
            },
            "HyperParameters": {
                "epochs": as_text(get("Parameters.Epochs")),
                "learning_rate": as_text(get("Parameters.LearningRate")),
            },
            "Environment": {
                "EVENSHARD_DATA_DIGEST": get("Steps.Preflight.OutputParameters['data_digest']")
            },
            "InputDataConfig": [
                _channel("train", "TrainDataUri", "ShardedByS3Key"),
                _channel("validation", "ValidationDataUri", "FullyReplicated"),
            ],
            "OutputDataConfig": {
                "S3OutputPath": as_text("s3://bucket/", get("Execution.PipelineExecutionId")),
                "KmsKeyId": KEY,
            },
            "CheckpointConfig": {
                "S3Uri": as_text("s3://bucket/c/", get("Execution.PipelineExecutionId"), "/"),
                "LocalPath": "/opt/ml/checkpoints",
            },
            "ResourceConfig": {
                "InstanceType": get("Parameters.InstanceType"),
                "InstanceCount": get("Parameters.InstanceCount"),
                "VolumeSizeInGB": 100,
            },
            "StoppingCondition": {"MaxRuntimeInSeconds": 86400},
            "EnableNetworkIsolation": True,
            "RoleArn": ROLE,
        },
        "RetryPolicies": [
            {
                "ExceptionType": ["Step.SERVICE_FAULT", "Step.THROTTLING"],
                "IntervalSeconds": 10,
                "BackoffRate": 2.0,
                "MaxAttempts": 5,
            },
            {
                "ExceptionType": ["SageMaker.CAPACITY_ERROR"],
                "IntervalSeconds": 300,
                "BackoffRate": 1.5,
                "ExpireAfterMin": 240,
            },
        ],
    }


def _evaluate() -> Json:
    return {
        "Name": "Evaluate",
        "Type": "Processing",
        "Arguments": {
            "AppSpecification": {
                "ImageUri": IMAGE,
                "ContainerEntrypoint": ["python3", "-m", "training.steps.evaluate", "pytorch"],
            },
            "ProcessingInputs": [
                _processing_input("model", MODEL),
                _processing_input("test", get("Parameters.TestDataUri")),
            ],
            "ProcessingOutputConfig": {
                "Outputs": [
                    {
                        "OutputName": "evaluation",
                        "S3Output": {
                            "S3Uri": as_text(
                                "s3://bucket/", get("Execution.PipelineExecutionId"), "/evaluation"
                            ),
                            "LocalPath": "/opt/ml/processing/output/evaluation",
                            "S3UploadMode": "EndOfJob",
                        },
                    }
                ],
                "KmsKeyId": KEY,
            },
            "NetworkConfig": {"EnableNetworkIsolation": True},
            "ProcessingResources": {
                "ClusterConfig": {
                    "InstanceType": get("Parameters.EvaluationInstanceType"),
                    "InstanceCount": 1,
                    "VolumeSizeInGB": 30,
                }
            },
            "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
            "RoleArn": ROLE,
        },
        "PropertyFiles": [
            {
                "PropertyFileName": "Evaluation",
                "OutputName": "evaluation",
                "FilePath": "evaluation.json",
            }
        ],
        "RetryPolicies": [RETRY],
    }


def _processing_input(name: str, uri: Json) -> Json:
    return {
        "InputName": name,
        "S3Input": {
            "S3Uri": uri,
            "LocalPath": f"/opt/ml/processing/input/{name}",
            "S3DataType": "S3Prefix",
            "S3InputMode": "File",
            "S3DataDistributionType": "FullyReplicated",
        },
    }


def _quality_gate() -> Json:
    accuracy = {
        "Std:JsonGet": {
            "PropertyFile": get("Steps.Evaluate.PropertyFiles.Evaluation"),
            "Path": "binary_classification_metrics.accuracy.value",
        }
    }
    return {
        "Name": "QualityGate",
        "Type": "Condition",
        "Arguments": {
            "Conditions": [
                {
                    "Type": "GreaterThanOrEqualTo",
                    "LeftValue": accuracy,
                    "RightValue": get("Parameters.QualityThreshold"),
                }
            ],
            "IfSteps": [_register()],
            "ElseSteps": [_reject()],
        },
    }


def _register() -> Json:
    report = as_text(
        get("Steps.Evaluate.ProcessingOutputConfig.Outputs['evaluation'].S3Output.S3Uri"),
        "/evaluation.json",
    )
    return {
        "Name": "Register",
        "Type": "RegisterModel",
        "Arguments": {
            "ModelPackageGroupName": "evenshard-dev-pytorch",
            "ModelApprovalStatus": get("Parameters.ModelApprovalStatus"),
            "InferenceSpecification": {"Containers": [{"Image": IMAGE, "ModelDataUrl": MODEL}]},
            "ModelMetrics": {
                "ModelQuality": {"Statistics": {"ContentType": "application/json", "S3Uri": report}}
            },
        },
        "RetryPolicies": [RETRY],
    }


def _reject() -> Json:
    return {
        "Name": "Reject",
        "Type": "Fail",
        "Arguments": {
            "ErrorMessage": as_text(
                "accuracy below ",
                get("Parameters.QualityThreshold"),
                ": ",
                get("Steps.Evaluate.ExitMessage"),
            )
        },
    }
