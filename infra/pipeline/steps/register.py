"""Register: a version in the model package group, with its metrics and its data's digest."""

from infra.pipeline.deployment import Deployment
from infra.pipeline.expressions import Json
from infra.pipeline.parameters import Parameters
from infra.pipeline.retries import call_retries
from infra.pipeline.sdk import ExecutionVariables
from infra.pipeline.steps.evaluate import EVALUATION_URI
from infra.pipeline.steps.preflight import DATA_DIGEST
from infra.pipeline.steps.train import MODEL_ARTIFACTS

NAME = "Register"


def register(p: Parameters, deployment: Deployment) -> Json:
    """The model package. It names the training image: an image for serving does not exist."""
    return {
        "Name": NAME,
        "Type": "RegisterModel",
        "DisplayName": "Register the model",
        "Description": "A version in the model package group, with metrics and the data's digest",
        "Arguments": {
            "ModelPackageGroupName": deployment.model_package_group_name,
            "ModelApprovalStatus": p.model_approval_status,
            "InferenceSpecification": {
                "Containers": [{"Image": deployment.image_uri, "ModelDataUrl": MODEL_ARTIFACTS}]
            },
            "ModelMetrics": {
                "ModelQuality": {
                    "Statistics": {"ContentType": "application/json", "S3Uri": EVALUATION_URI}
                }
            },
            "CustomerMetadataProperties": {
                "data_digest": DATA_DIGEST,
                "execution": ExecutionVariables.PIPELINE_EXECUTION_ID,
            },
        },
        "RetryPolicies": call_retries(),
    }
