"""The arguments of steps that the simulator understands, by step type.

Names and meanings are those of the Create* requests. What is not here is refused (`shapes`).
"""

from collections.abc import Mapping
from typing import Final

from evenshard.simulator.limits import MOST_HOSTS
from evenshard.simulator.pipeline.shapes import (
    Count,
    ListOf,
    MapOf,
    NoEffect,
    OneOf,
    Primitive,
    Shape,
    Structure,
    Uri,
)

DESCRIPTION: Final = NoEffect("text for people")
STRINGS: Final = ListOf(str)

_PERMISSIONS: Final = NoEffect("there is no account, so nothing needs a role, key or tag")
_MACHINES: Final = NoEffect("hosts are processes on this machine, whatever the instance")
_NETWORK: Final = NoEffect("hosts talk over the loopback interface, with no AWS credentials")

_FILE_MODE: Final = OneOf(("File",))
_INPUT_MODE: Final = OneOf(("File", "FastFile"))
_DISTRIBUTION: Final = OneOf(("FullyReplicated", "ShardedByS3Key"))

_S3_DATA_SOURCE: Final = Structure(
    {
        "S3DataType": OneOf(("S3Prefix",)),
        "S3Uri": Uri(),
        "S3DataDistributionType": _DISTRIBUTION,
    },
    required=("S3DataType", "S3Uri"),
)
_CHANNEL: Final = Structure(
    {
        "ChannelName": str,
        "DataSource": Structure({"S3DataSource": _S3_DATA_SOURCE}, required=("S3DataSource",)),
        "InputMode": _INPUT_MODE,
        "ContentType": str,
        "CompressionType": OneOf(("None",)),
        "RecordWrapperType": OneOf(("None",)),
    },
    required=("ChannelName", "DataSource"),
)
_TRAINING: Final = Structure(
    {
        "AlgorithmSpecification": Structure(
            {
                "TrainingImage": str,
                "TrainingInputMode": _INPUT_MODE,
                "ContainerEntrypoint": STRINGS,
                "ContainerArguments": STRINGS,
                "MetricDefinitions": ListOf(
                    Structure({"Name": str, "Regex": str}, required=("Name", "Regex")),
                    unique="Name",
                ),
                "EnableSageMakerMetricsTimeSeries": NoEffect("result.json holds every value"),
            },
            required=("TrainingImage", "TrainingInputMode", "ContainerEntrypoint"),
        ),
        "HyperParameters": MapOf(str),
        "Environment": MapOf(str),
        "InputDataConfig": ListOf(_CHANNEL, unique="ChannelName"),
        "OutputDataConfig": Structure(
            {
                "S3OutputPath": Uri(),
                "KmsKeyId": str,
                "CompressionType": OneOf(("GZIP",)),
            },
            required=("S3OutputPath",),
        ),
        "ResourceConfig": Structure(
            {
                "InstanceCount": Count(1, MOST_HOSTS),
                "InstanceType": str,
                "VolumeSizeInGB": _MACHINES,
                "VolumeKmsKeyId": _PERMISSIONS,
                "KeepAlivePeriodInSeconds": _MACHINES,
            },
            required=("InstanceCount", "InstanceType"),
        ),
        "StoppingCondition": Structure(
            {
                "MaxRuntimeInSeconds": Count(1),
                "MaxWaitTimeInSeconds": Count(1),
                "MaxPendingTimeInSeconds": NoEffect("no job waits for instances here"),
            }
        ),
        "EnableManagedSpotTraining": bool,
        "CheckpointConfig": Structure({"S3Uri": Uri(), "LocalPath": str}, required=("S3Uri",)),
        "TensorBoardOutputConfig": Structure(
            {"S3OutputPath": Uri(), "LocalPath": str}, required=("S3OutputPath",)
        ),
        "RoleArn": _PERMISSIONS,
        "Tags": _PERMISSIONS,
        "VpcConfig": _NETWORK,
        "EnableNetworkIsolation": _NETWORK,
        "EnableInterContainerTrafficEncryption": _NETWORK,
        "ExperimentConfig": DESCRIPTION,
    },
    required=("AlgorithmSpecification", "OutputDataConfig", "ResourceConfig", "StoppingCondition"),
)

_PROCESSING_INPUT: Final = Structure(
    {
        "InputName": str,
        "AppManaged": OneOf((False,)),
        "S3Input": Structure(
            {
                "S3Uri": Uri(),
                "LocalPath": str,
                "S3DataType": OneOf(("S3Prefix",)),
                "S3InputMode": _FILE_MODE,
                "S3DataDistributionType": _DISTRIBUTION,
                "S3CompressionType": OneOf(("None",)),
            },
            required=("S3Uri", "LocalPath", "S3DataType"),
        ),
    },
    required=("InputName", "S3Input"),
)
_PROCESSING_OUTPUT: Final = Structure(
    {
        "OutputName": str,
        "AppManaged": OneOf((False,)),
        "S3Output": Structure(
            {"S3Uri": Uri(), "LocalPath": str, "S3UploadMode": OneOf(("EndOfJob",))},
            required=("S3Uri", "LocalPath", "S3UploadMode"),
        ),
    },
    required=("OutputName", "S3Output"),
)
_PROCESSING: Final = Structure(
    {
        "ProcessingResources": Structure(
            {
                "ClusterConfig": Structure(
                    {
                        "InstanceCount": Count(1, MOST_HOSTS),
                        "InstanceType": str,
                        "VolumeSizeInGB": _MACHINES,
                        "VolumeKmsKeyId": _PERMISSIONS,
                    },
                    required=("InstanceCount", "InstanceType"),
                )
            },
            required=("ClusterConfig",),
        ),
        "AppSpecification": Structure(
            {"ImageUri": str, "ContainerEntrypoint": STRINGS, "ContainerArguments": STRINGS},
            required=("ImageUri", "ContainerEntrypoint"),
        ),
        "Environment": MapOf(str),
        "ProcessingInputs": ListOf(_PROCESSING_INPUT, unique="InputName"),
        "ProcessingOutputConfig": Structure(
            {
                "Outputs": ListOf(_PROCESSING_OUTPUT, unique="OutputName"),
                "KmsKeyId": str,
            },
            required=("Outputs",),
        ),
        "StoppingCondition": Structure({"MaxRuntimeInSeconds": Count(1)}),
        "NetworkConfig": _NETWORK,
        "RoleArn": _PERMISSIONS,
        "Tags": _PERMISSIONS,
        "ExperimentConfig": DESCRIPTION,
    },
    required=("ProcessingResources", "AppSpecification"),
)

_REGISTER_MODEL: Final = Structure(
    {
        "ModelPackageGroupName": str,
        "ModelApprovalStatus": OneOf(("Approved", "PendingManualApproval", "Rejected")),
        "ModelPackageDescription": str,
        "InferenceSpecification": Structure(
            {
                "Containers": ListOf(
                    Structure(
                        {"Image": str, "ModelDataUrl": Uri(), "Environment": MapOf(str)},
                        required=("Image", "ModelDataUrl"),
                    )
                ),
                "SupportedContentTypes": STRINGS,
                "SupportedResponseMIMETypes": STRINGS,
                "SupportedRealtimeInferenceInstanceTypes": STRINGS,
                "SupportedTransformInstanceTypes": STRINGS,
            },
            required=("Containers",),
        ),
        "ModelMetrics": Structure(
            {
                "ModelQuality": Structure(
                    {
                        "Statistics": Structure(
                            {"ContentType": str, "S3Uri": Uri()}, required=("ContentType", "S3Uri")
                        )
                    }
                )
            }
        ),
        "CustomerMetadataProperties": MapOf(str),
        "SkipModelValidation": OneOf(("None", "All")),
        "Tags": _PERMISSIONS,
    },
    required=("ModelPackageGroupName", "InferenceSpecification"),
)

_CONDITION: Final = Structure(
    {
        # Compared when the step runs; the steps inside are checked one by one.
        "Conditions": ListOf(NoEffect("evaluated by the Condition step itself")),
        "IfSteps": ListOf(NoEffect("checked as steps of their own")),
        "ElseSteps": ListOf(NoEffect("checked as steps of their own")),
    },
    required=("Conditions",),
)
ARGUMENTS: Final[Mapping[str, Shape]] = {
    "Training": _TRAINING,
    "Processing": _PROCESSING,
    "Lambda": MapOf(Primitive()),
    "Condition": _CONDITION,
    "Fail": Structure({"ErrorMessage": str}, required=("ErrorMessage",)),
    "RegisterModel": _REGISTER_MODEL,
}
"""Checked when the definition is read, and once more when a step starts, with its expressions
evaluated."""
