"""The definition's own shape: the keys around the arguments, which no service model describes."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from infra.pipeline.validation.document import (
    CALLBACK,
    CONDITION,
    FAIL,
    LAMBDA,
    PROCESSING,
    Definition,
    Step,
    as_list,
)
from infra.pipeline.validation.problem import Problem
from infra.pipeline.validation.service_model import API_STEP_TYPES
from infra.pipeline.validation.wording import allowed, rename_fix, shown, type_of

VERSION: Final = "2020-12-01"
DEFINITION_CHARACTERS: Final = 1_000_000
"""CreatePipeline takes 1,048,576; CloudFormation may put longer texts in place of tokens."""
STEP_NAME_PATTERN: Final = re.compile(r"[A-Za-z0-9\-_]{1,64}")
"""Source: the service model's StepName."""

TOP_KEYS: Final = (
    "Version",
    "Metadata",
    "Parameters",
    "PipelineExperimentConfig",
    "MlflowConfig",
    "Steps",
)
STEP_KEYS: Final = ("Name", "Type", "Arguments", "DependsOn", "DisplayName", "Description")
CACHED_TYPES: Final = ("Processing", "Training", "Transform", "Tuning", "AutoML", LAMBDA, CALLBACK)
RETRIED_TYPES: Final = ("Processing", "Training", "Tuning", "Model", "RegisterModel", "Transform")
"""Source: the developer guide's retry policies."""
OWN_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    PROCESSING: ("PropertyFiles",),
    LAMBDA: ("FunctionArn", "OutputParameters"),
    CALLBACK: ("SqsQueueUrl", "OutputParameters"),
}
STEP_TYPES: Final = (*API_STEP_TYPES, LAMBDA, CALLBACK, CONDITION, FAIL)

_DURATION = re.compile(r"P?(\d+[YMWD])*(T(\d+[HMS])+)?", re.IGNORECASE)


def check_definition(definition: Definition) -> Iterator[Problem]:
    """Judge the top level: keys, version, size."""
    raw = definition.raw
    yield from unknown_keys(raw, TOP_KEYS, "")
    yield from missing_keys(raw, ("Version", "Steps"), "")
    if "Version" in raw and raw["Version"] != VERSION:
        yield Problem(
            path="Version",
            rule="definition-version",
            wrong=f"{shown(raw['Version'])}; allowed: {VERSION!r}",
            fix=f"Write {VERSION!r}",
        )
    for key in ("Parameters", "Steps"):
        yield from objects_in_list(raw, key, "")
    if "Steps" in raw and raw["Steps"] == []:
        yield Problem(
            path="Steps", rule="no-steps", wrong="there is no step", fix="Add at least one step"
        )
    yield from _size(raw)


def check_steps(definition: Definition) -> Iterator[Problem]:
    """Judge every step's own keys: name, type, dependencies, cache."""
    for step in definition.steps:
        yield from _step(step)


def unknown_keys(
    raw: Mapping[str, object], options: Collection[str], path: str
) -> Iterator[Problem]:
    """Keys that are none of the options."""
    for key in raw:
        if key not in options:
            yield Problem(
                path=below(path, str(key)),
                rule="unknown-key",
                wrong=f"unknown key {shown(key)}; {allowed(options)}",
                fix=rename_fix(str(key), options, "Remove it"),
            )


def missing_keys(
    raw: Mapping[str, object], required: Collection[str], path: str
) -> Iterator[Problem]:
    """Required keys that are not there."""
    for key in required:
        if key not in raw:
            yield Problem(
                path=below(path, key),
                rule="missing-key",
                wrong=f"{key} is missing; it is required",
                fix=f"Add {key}",
            )


def wrong_type(value: object, wanted: str, path: str) -> Problem:
    """A value of another JSON type than the wanted one."""
    return Problem(
        path=path,
        rule="wrong-type",
        wrong=f"{shown(value)} is {type_of(value)}; allowed: {wanted}",
        fix=f"Give {wanted}",
    )


def objects_in_list(raw: Mapping[str, object], key: str, path: str) -> Iterator[Problem]:
    """What keeps `raw[key]`, where present, from being a list of objects."""
    if key not in raw:
        return
    value = raw[key]
    if not isinstance(value, list):
        yield wrong_type(value, "a list", below(path, key))
        return
    for index, item in enumerate(value):
        if not isinstance(item, dict):
            yield wrong_type(item, "an object", f"{below(path, key)}[{index}]")


def strings_in(raw: Mapping[str, object], keys: Collection[str], path: str) -> Iterator[Problem]:
    """Those of the present keys whose value is no string."""
    for key in keys:
        if key in raw and not isinstance(raw[key], str):
            yield wrong_type(raw[key], "a string", below(path, key))


def below(path: str, key: str) -> str:
    """The path of a key of the object at `path`."""
    return f"{path}.{key}" if path else key


def _step(step: Step) -> Iterator[Problem]:
    raw, path = step.raw, step.path
    yield from missing_keys(raw, ("Name", "Type", "Arguments"), path)
    yield from strings_in(raw, ("Name", "Type", "DisplayName", "Description"), path)
    if step.name and not STEP_NAME_PATTERN.fullmatch(step.name):
        yield Problem(
            path=f"{path}.Name",
            rule="step-name",
            wrong=f"{shown(step.name)}; allowed: 1 to 64 letters, digits, '-' and '_'",
            fix="Rename the step",
        )
    if "Arguments" in raw and not isinstance(raw["Arguments"], dict):
        yield wrong_type(raw["Arguments"], "an object", step.arguments_path)
    yield from _depends_on_is_names(step)
    if step.kind in STEP_TYPES:
        yield from _keys_of_kind(step)
    elif step.kind:
        yield Problem(
            path=f"{path}.Type",
            rule="unknown-step-type",
            wrong=f"{shown(step.kind)}; {allowed(STEP_TYPES)}",
            fix=rename_fix(step.kind, STEP_TYPES, "Use one of these types"),
        )


def _keys_of_kind(step: Step) -> Iterator[Problem]:
    options = [*STEP_KEYS, *OWN_KEYS.get(step.kind, ())]
    if step.kind in CACHED_TYPES:
        options.append("CacheConfig")
        yield from _cache(step)
    # Where retry policies are not supported, retry.py says so and which types have them.
    known = {key: value for key, value in step.raw.items() if key != "RetryPolicies"}
    yield from unknown_keys(known, options, step.path)


def _depends_on_is_names(step: Step) -> Iterator[Problem]:
    if "DependsOn" not in step.raw:
        return
    path = f"{step.path}.DependsOn"
    value = step.raw["DependsOn"]
    if not isinstance(value, list):
        yield wrong_type(value, "a list of step names", path)
    for index, name in enumerate(as_list(value)):
        if not isinstance(name, str):
            yield wrong_type(name, "a step name", f"{path}[{index}]")


def _cache(step: Step) -> Iterator[Problem]:
    if "CacheConfig" not in step.raw:
        return
    path, cache = f"{step.path}.CacheConfig", step.raw["CacheConfig"]
    if not isinstance(cache, dict):
        yield wrong_type(cache, "an object", path)
        return
    yield from unknown_keys(cache, ("Enabled", "ExpireAfter"), path)
    yield from missing_keys(cache, ("Enabled",), path)
    if "Enabled" in cache and not isinstance(cache["Enabled"], bool):
        yield wrong_type(cache["Enabled"], "a boolean", f"{path}.Enabled")
    expires = cache.get("ExpireAfter", "P30D")
    if not isinstance(expires, str) or not (_DURATION.fullmatch(expires) and expires.strip("PTpt")):
        yield Problem(
            path=f"{path}.ExpireAfter",
            rule="cache-duration",
            wrong=f"{shown(expires)}; allowed: an ISO 8601 duration",
            fix="Write for example 'P30D' (30 days) or 'PT12H' (12 hours)",
        )


def _size(raw: Mapping[str, object]) -> Iterator[Problem]:
    characters = len(json.dumps(raw, separators=(",", ":"), ensure_ascii=False, default=str))
    if characters > DEFINITION_CHARACTERS:
        yield Problem(
            path="(definition)",
            rule="definition-size",
            wrong=f"{characters:,} characters; allowed: at most {DEFINITION_CHARACTERS:,}",
            fix="Move long values out of the definition, for example into S3",
        )
