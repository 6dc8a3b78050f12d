"""Evaluate: one instance measures the model on the test set."""

from infra.pipeline.capacity import SOLD_OUT_MIN
from infra.pipeline.deployment import EVALUATION_FOLDER, Deployment
from infra.pipeline.expressions import Json, step_property
from infra.pipeline.parameters import Parameters
from infra.pipeline.retries import job_retries
from infra.pipeline.sdk import ExecutionVariables, Join, PropertyFile
from infra.pipeline.settings import EvaluationSettings
from infra.pipeline.steps.train import MODEL_ARTIFACTS
from training.contract.layout import (
    EVALUATION_FILE,
    EVALUATION_OUTPUT,
    MODEL_INPUT,
    TEST_INPUT,
    evaluation_entrypoint,
    processing_input_path,
    processing_output_path,
)

NAME = "Evaluate"

EVALUATION = PropertyFile(name="Evaluation", output_name=EVALUATION_OUTPUT, path=EVALUATION_FILE)
"""The file that the quality gate reads."""
EVALUATION_URI = Join(
    on="/",
    values=[
        step_property(
            NAME, f"ProcessingOutputConfig.Outputs['{EVALUATION_OUTPUT}'].S3Output.S3Uri"
        ),
        EVALUATION_FILE,
    ],
)
SUMMARY = step_property(NAME, "ExitMessage")
"""One line with the numbers."""


def evaluate(p: Parameters, deployment: Deployment, settings: EvaluationSettings) -> Json:
    """The evaluation job. It waits for Train, whose model it reads."""
    return {
        "Name": NAME,
        "Type": "Processing",
        "DisplayName": "Measure on the test set",
        "Description": "One instance applies the model to TestDataUri",
        "Arguments": {
            "AppSpecification": {
                "ImageUri": deployment.image_uri,
                "ContainerEntrypoint": evaluation_entrypoint(deployment.framework),
            },
            "ProcessingInputs": [
                _input(MODEL_INPUT, MODEL_ARTIFACTS),
                _input(TEST_INPUT, p.test_data_uri),
            ],
            "ProcessingOutputConfig": {
                "Outputs": [_evaluation_output(deployment)],
                "KmsKeyId": deployment.key_arn,
            },
            "ProcessingResources": {
                "ClusterConfig": {
                    "InstanceType": p.evaluation_instance_type,
                    "InstanceCount": 1,
                    "VolumeSizeInGB": settings.volume_gb,
                    **deployment.volume_key(settings),
                }
            },
            "StoppingCondition": {"MaxRuntimeInSeconds": settings.max_runtime_s},
            "NetworkConfig": {
                "EnableNetworkIsolation": True,
                **({"VpcConfig": deployment.network.vpc_config()} if deployment.network else {}),
            },
            "RoleArn": deployment.evaluation_role_arn,
            "Tags": deployment.job_tags(),
        },
        "PropertyFiles": [
            {
                "PropertyFileName": EVALUATION.name,
                "OutputName": EVALUATION.output_name,
                "FilePath": EVALUATION.path,
            }
        ],
        "RetryPolicies": job_retries(sold_out_min=SOLD_OUT_MIN),
    }


def _input(name: str, uri: object) -> Json:
    return {
        "InputName": name,
        "S3Input": {
            "S3Uri": uri,
            "LocalPath": processing_input_path(name),
            "S3DataType": "S3Prefix",
            "S3InputMode": "File",
            "S3DataDistributionType": "FullyReplicated",
        },
    }


def _evaluation_output(deployment: Deployment) -> Json:
    return {
        "OutputName": EVALUATION_OUTPUT,
        "S3Output": {
            "S3Uri": Join(
                on="/",
                values=[
                    deployment.executions_uri,
                    ExecutionVariables.PIPELINE_EXECUTION_ID,
                    EVALUATION_FOLDER,
                ],
            ),
            "LocalPath": processing_output_path(EVALUATION_OUTPUT),
            "S3UploadMode": "EndOfJob",
        },
    }
