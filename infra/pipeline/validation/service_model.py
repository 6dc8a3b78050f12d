"""botocore's description of the SageMaker API: what each step type takes and returns."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, cast

import botocore.session
from botocore.model import ServiceModel, Shape, StringShape, StructureShape

CREATE_OPERATIONS: Final[Mapping[str, str]] = {
    "Training": "CreateTrainingJob",
    "Processing": "CreateProcessingJob",
    "RegisterModel": "CreateModelPackage",
    "Transform": "CreateTransformJob",
    "Tuning": "CreateHyperParameterTuningJob",
    "Model": "CreateModel",
    "AutoML": "CreateAutoMLJob",
    "EndpointConfig": "CreateEndpointConfig",
    "Endpoint": "CreateEndpoint",
}
"""Step types whose Arguments are the request of an API operation."""

API_STEP_TYPES: Final = tuple(CREATE_OPERATIONS)

FILLED_BY_PIPELINES: Final[Mapping[str, str]] = {
    "Training": "TrainingJobName",
    "Processing": "ProcessingJobName",
    "Transform": "TransformJobName",
    "Tuning": "HyperParameterTuningJobName",
    "Model": "ModelName",
    "AutoML": "AutoMLJobName",
    "EndpointConfig": "EndpointConfigName",
    "Endpoint": "EndpointName",
}
"""The one key that the API requires and Pipelines names by itself."""

_INSTANCE_TYPE: Final[Mapping[str, tuple[str, ...]]] = {
    "Training": ("ResourceConfig", "InstanceType"),
    "Processing": ("ProcessingResources", "ClusterConfig", "InstanceType"),
}

LISTED_PROPERTIES: Final[Mapping[str, str]] = {
    "Tuning": "ListTrainingJobsForHyperParameterTuningJob",
}
"""Operations whose output a step offers beside its Describe output. Source: SDK v3, steps.py."""


@lru_cache(maxsize=1)
def service_model() -> ServiceModel:
    """The model of the SageMaker API. Read from botocore's data files: no network, no account."""
    return botocore.session.Session().get_service_model("sagemaker")


def input_shape(step_type: str) -> Shape:
    """The shape of the Arguments of an API step type."""
    shape = service_model().operation_model(CREATE_OPERATIONS[step_type]).input_shape
    if shape is None:
        raise AssertionError(f"{CREATE_OPERATIONS[step_type]} takes no input")
    return shape


def instance_types(step_type: str) -> list[str]:
    """The instance types that a Training or Processing step may ask for."""
    shape = input_shape(step_type)
    for name in _INSTANCE_TYPE[step_type]:
        shape = cast("StructureShape", shape).members[name]
    return list(cast("StringShape", shape).enum)


def property_shapes(step_type: str) -> dict[str, Shape]:
    """The properties a step of an API step type offers, by name."""
    create = CREATE_OPERATIONS[step_type]
    operations = [create.replace("Create", "Describe", 1), LISTED_PROPERTIES.get(step_type)]
    members: dict[str, Shape] = {}
    for operation in filter(None, operations):
        shape = service_model().operation_model(operation).output_shape
        if isinstance(shape, StructureShape):
            members.update(shape.members)
    return members
