"""The form in which the SageMaker SDK writes definitions is understood.

Its key order, empty objects and optional fields differ from ours; only our own rule against
cached training steps has something to say.
"""

from tests.definition.documents import IMAGE, MODEL, ROLE
from tests.definition.edits import Json, as_text, get
from tests.definition.judged import found_in

RETRY = {
    "BackoffRate": 2.0,
    "IntervalSeconds": 1,
    "MaxAttempts": 4,
    "ExceptionType": ["Step.SERVICE_FAULT"],
}


def written_by_the_sdk() -> Json:
    """Prepare, train, compare: with experiment, caches, checkpoints and debugger hooks."""
    return {
        "Version": "2020-12-01",
        "Metadata": {},
        "Parameters": [
            {"Name": "Hosts", "Type": "Integer", "DefaultValue": 4},
            {"Name": "RawUri", "Type": "String"},
        ],
        "PipelineExperimentConfig": {
            "ExperimentName": get("Execution.PipelineName"),
            "TrialName": get("Execution.PipelineExecutionId"),
        },
        "Steps": [_prepare(), _train(), _compare()],
    }


def _prepare() -> Json:
    return {
        "Name": "Shard",
        "Type": "Processing",
        "Arguments": {
            "ProcessingResources": {
                "ClusterConfig": {
                    "InstanceType": "ml.m5.large",
                    "InstanceCount": get("Parameters.Hosts"),
                    "VolumeSizeInGB": 20,
                }
            },
            "AppSpecification": {"ImageUri": IMAGE, "ContainerEntrypoint": ["python3", "p.py"]},
            "RoleArn": ROLE,
            "ProcessingInputs": [
                {
                    "InputName": "raw",
                    "AppManaged": False,
                    "S3Input": {
                        "S3Uri": get("Parameters.RawUri"),
                        "LocalPath": "/opt/ml/processing/raw",
                        "S3DataType": "S3Prefix",
                        "S3InputMode": "File",
                        "S3DataDistributionType": "ShardedByS3Key",
                        "S3CompressionType": "None",
                    },
                }
            ],
            "ProcessingOutputConfig": {
                "Outputs": [
                    {
                        "OutputName": "shards",
                        "AppManaged": False,
                        "S3Output": {
                            "S3Uri": "s3://bucket/shards",
                            "LocalPath": "/opt/ml/processing/shards",
                            "S3UploadMode": "EndOfJob",
                        },
                    }
                ]
            },
        },
        "RetryPolicies": [RETRY],
        "CacheConfig": {"Enabled": True, "ExpireAfter": "P7D"},
    }


def _train() -> Json:
    shards = get("Steps.Shard.ProcessingOutputConfig.Outputs['shards'].S3Output.S3Uri")
    return {
        "Name": "Fit",
        "Type": "Training",
        "Arguments": {
            "AlgorithmSpecification": {"TrainingInputMode": "FastFile", "TrainingImage": IMAGE},
            "OutputDataConfig": {"S3OutputPath": "s3://bucket/models/"},
            "StoppingCondition": {"MaxRuntimeInSeconds": 3600, "MaxWaitTimeInSeconds": 7200},
            "ResourceConfig": {
                "VolumeSizeInGB": 30,
                "InstanceCount": get("Parameters.Hosts"),
                "InstanceType": "ml.g5.xlarge",
            },
            "RoleArn": ROLE,
            "InputDataConfig": [
                {
                    "DataSource": {
                        "S3DataSource": {
                            "S3DataType": "S3Prefix",
                            "S3Uri": shards,
                            "S3DataDistributionType": "ShardedByS3Key",
                        }
                    },
                    "ChannelName": "train",
                }
            ],
            "HyperParameters": {"optimizer": '"adam"', "hosts": as_text(get("Parameters.Hosts"))},
            "EnableManagedSpotTraining": True,
            "CheckpointConfig": {
                "S3Uri": as_text("s3://bucket/c/", get("Execution.PipelineExecutionId"), "/"),
                "LocalPath": "/opt/ml/checkpoints",
            },
            "DebugHookConfig": {"S3OutputPath": "s3://bucket/d/", "CollectionConfigurations": []},
            "ProfilerConfig": {"S3OutputPath": "s3://bucket/d/", "DisableProfiler": False},
        },
        "CacheConfig": {"Enabled": True, "ExpireAfter": "P7D"},
    }


def _compare() -> Json:
    return {
        "Name": "Compare",
        "Type": "Condition",
        "Arguments": {
            "Conditions": [
                {
                    "Type": "LessThanOrEqualTo",
                    "LeftValue": get("Steps.Fit.BillableTimeInSeconds"),
                    "RightValue": 7200.0,
                }
            ],
            "IfSteps": [
                {
                    "Name": "Keep-RegisterModel",
                    "Type": "RegisterModel",
                    "Arguments": {
                        "ModelPackageGroupName": "group",
                        "ModelMetrics": {"Bias": {}, "Explainability": {}},
                        "InferenceSpecification": {
                            "Containers": [
                                {"Image": IMAGE, "Environment": {}, "ModelDataUrl": MODEL_OF_FIT}
                            ],
                            "SupportedContentTypes": ["application/json"],
                            "SupportedResponseMIMETypes": ["application/json"],
                            "SupportedRealtimeInferenceInstanceTypes": ["ml.g5.xlarge"],
                        },
                        "ModelApprovalStatus": "PendingManualApproval",
                        "SkipModelValidation": "None",
                    },
                }
            ],
            "ElseSteps": [],
        },
    }


MODEL_OF_FIT = get(MODEL["Get"].replace("Train", "Fit"))


OUR_OWN_RULES = {"job-isolated", "job-needs-limit", "output-needs-key", "step-needs-retries"}
"""What the SDK leaves out and this project asks for."""


def refused(definition: Json) -> list[tuple[str, str]]:
    found = found_in(definition)
    assert {rule for _, rule in found} >= OUR_OWN_RULES
    return [one for one in found if one[1] not in OUR_OWN_RULES]


def test_only_the_cached_training_step_is_refused() -> None:
    assert refused(written_by_the_sdk()) == [
        ("Steps.Fit.CacheConfig.Enabled", "training-not-cached")
    ]


def test_without_that_cache_it_passes() -> None:
    definition = written_by_the_sdk()
    del definition["Steps"][1]["CacheConfig"]
    assert refused(definition) == []
