"""The fields of a pipeline definition that the simulator understands, steps' arguments aside.

What is not here is refused (`shapes`).
"""

from collections.abc import Mapping
from typing import Final

from evenshard.simulator.pipeline.argument_shapes import ARGUMENTS, DESCRIPTION, STRINGS
from evenshard.simulator.pipeline.retries import EXCEPTION_TYPES
from evenshard.simulator.pipeline.shapes import (
    Count,
    ListOf,
    NoEffect,
    OneOf,
    Primitive,
    Shape,
    Structure,
)

STEP_TYPES: Final = tuple(ARGUMENTS)

_CACHE: Final = NoEffect("every run is a first run: a step is never taken from a cache")

_EVERY_STEP: Final[Mapping[str, Shape]] = {
    "Name": str,
    "Type": str,
    "DisplayName": DESCRIPTION,
    "Description": DESCRIPTION,
    "DependsOn": STRINGS,
}
_RETRY_POLICIES: Final = ListOf(
    Structure(
        {
            "ExceptionType": ListOf(OneOf(EXCEPTION_TYPES)),
            "IntervalSeconds": Count(1),
            "BackoffRate": float,
            "MaxAttempts": Count(1),
            "ExpireAfterMin": Count(1),
        },
        required=("ExceptionType",),
    )
)
_JOB_STEP: Final[Mapping[str, Shape]] = {"RetryPolicies": _RETRY_POLICIES, "CacheConfig": _CACHE}
_OUTPUT_PARAMETER: Final = Structure(
    {"OutputName": str, "OutputType": OneOf(("String", "Integer", "Boolean", "Float"))},
    required=("OutputName", "OutputType"),
)
_PROPERTY_FILE: Final = Structure(
    {"PropertyFileName": str, "OutputName": str, "FilePath": str},
    required=("PropertyFileName", "OutputName", "FilePath"),
)
_OWN_FIELDS: Final[Mapping[str, Mapping[str, Shape]]] = {
    "Training": _JOB_STEP,
    "Processing": {
        **_JOB_STEP,
        "PropertyFiles": ListOf(_PROPERTY_FILE, unique="PropertyFileName"),
    },
    "Lambda": {
        "FunctionArn": str,
        "OutputParameters": ListOf(_OUTPUT_PARAMETER, unique="OutputName"),
        "CacheConfig": _CACHE,
    },
    "Condition": {},
    "Fail": {},
    "RegisterModel": {"RetryPolicies": _RETRY_POLICIES},
}


def _step(kind: str) -> Structure:
    fields = {**_EVERY_STEP, **_OWN_FIELDS[kind], "Arguments": ARGUMENTS[kind]}
    needed = ("Name", "Type", "FunctionArn" if kind == "Lambda" else "Arguments")
    return Structure(fields, required=needed)


STEP_FIELDS: Final[Mapping[str, Structure]] = {kind: _step(kind) for kind in STEP_TYPES}

DEFINITION: Final = Structure(
    {
        "Version": OneOf(("2020-12-01",)),
        "Metadata": DESCRIPTION,
        "PipelineExperimentConfig": DESCRIPTION,
        "Parameters": ListOf(
            Structure(
                {
                    "Name": str,
                    "Type": OneOf(("String", "Integer", "Float", "Boolean")),
                    "DefaultValue": Primitive(),
                    "EnumValues": STRINGS,
                },
                required=("Name", "Type"),
            ),
            unique="Name",
        ),
        "Steps": ListOf(NoEffect("checked one by one")),
    },
    required=("Version", "Steps"),
)
