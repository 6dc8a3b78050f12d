"""What a job needs beyond the service model: keys that are optional there, names that are unique.

The API marks the keys of ordinary jobs as optional since it also takes serverless ones, and says
in words only that names inside a list must differ.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from infra.pipeline.validation.document import (
    PROCESSING,
    TRAINING,
    Definition,
    Step,
    as_list,
    as_mapping,
)
from infra.pipeline.validation.problem import Problem
from infra.pipeline.validation.references import is_expression
from infra.pipeline.validation.structure import (
    missing_keys,
    objects_in_list,
    strings_in,
    unknown_keys,
)
from infra.pipeline.validation.wording import allowed, rename_fix


@dataclass(frozen=True, slots=True)
class Need:
    """One of `keys` must stand at `place` of a step type's Arguments."""

    kind: str
    place: tuple[str, ...]
    keys: tuple[str, ...]
    """The first is the usual one and is named in the problem."""
    only_one: bool = False


NEEDS: Final = (
    Need(TRAINING, (), ("AlgorithmSpecification", "ServerlessJobConfig")),
    Need(TRAINING, (), ("ResourceConfig", "ServerlessJobConfig")),
    Need(TRAINING, (), ("StoppingCondition", "ServerlessJobConfig")),
    Need(TRAINING, ("AlgorithmSpecification",), ("TrainingImage", "AlgorithmName"), only_one=True),
    Need(
        TRAINING,
        ("ResourceConfig",),
        ("InstanceType", "InstanceGroups", "InstancePreferences"),
    ),
    Need(
        TRAINING,
        ("ResourceConfig",),
        ("InstanceCount", "InstanceGroups", "InstancePreferences"),
    ),
    Need(
        PROCESSING,
        ("ProcessingResources", "ClusterConfig"),
        ("InstanceType", "InstancePreferences"),
    ),
    Need(
        PROCESSING,
        ("ProcessingResources", "ClusterConfig"),
        ("InstanceCount", "InstancePreferences"),
    ),
    Need("RegisterModel", (), ("ModelPackageGroupName",)),
)

UNIQUE_NAMES: Final = (
    (TRAINING, ("InputDataConfig",), "ChannelName"),
    (TRAINING, ("AlgorithmSpecification", "MetricDefinitions"), "Name"),
    (PROCESSING, ("ProcessingInputs",), "InputName"),
    (PROCESSING, ("ProcessingOutputConfig", "Outputs"), "OutputName"),
)
"""Step type, place of a list in its Arguments, key whose values must differ."""

FILE_KEYS: Final = ("PropertyFileName", "OutputName", "FilePath")


def check_completeness(definition: Definition) -> Iterator[Problem]:
    """Judge jobs for missing keys, duplicate names and property files."""
    for need in NEEDS:
        for step in definition.of_kind(need.kind):
            yield from _need(step, need)
    for kind, place, key in UNIQUE_NAMES:
        for step in definition.of_kind(kind):
            yield from _unique(step, place, key)
    for step in definition.of_kind(PROCESSING):
        yield from _property_files(step)


def _need(step: Step, need: Need) -> Iterator[Problem]:
    holder = step.argument(*need.place)
    if not isinstance(holder, dict) or not holder or is_expression(holder):
        return  # an absent or malformed holder is a problem of its own
    found = [key for key in need.keys if key in holder]
    path = ".".join([step.arguments_path, *need.place])
    if not found:
        others = f" or {' or '.join(need.keys[1:])}" if need.keys[1:] else ""
        yield Problem(
            path=f"{path}.{need.keys[0]}",
            rule="missing-key",
            wrong=f"{need.keys[0]} is missing; {need.keys[0]}{others} is required",
            fix=f"Add {need.keys[0]}",
        )
    elif need.only_one and len(found) > 1:
        yield Problem(
            path=path,
            rule="union",
            wrong=f"{' and '.join(found)} are given; allowed: exactly one of them",
            fix=f"Keep {need.keys[0]}",
        )


def _unique(step: Step, place: tuple[str, ...], key: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for path, item in step.items(*place):
        name = item.get(key)
        if isinstance(name, str) and name in seen:
            yield _twice(f"{path}.{key}", name)
        elif isinstance(name, str):
            seen.add(name)


def _twice(path: str, name: str) -> Problem:
    return Problem(
        path=path,
        rule="duplicate-name",
        wrong=f"{name!r} is there twice; names must be unique",
        fix="Rename or remove one of them",
    )


def _property_files(step: Step) -> Iterator[Problem]:
    yield from objects_in_list(step.raw, "PropertyFiles", step.path)
    outputs = [
        str(as_mapping(output).get("OutputName"))
        for output in as_list(step.argument("ProcessingOutputConfig", "Outputs"))
    ]
    seen: set[object] = set()
    for index, item in enumerate(as_list(step.raw.get("PropertyFiles"))):
        if not isinstance(item, dict):
            continue
        path = f"{step.path}.PropertyFiles[{index}]"
        yield from unknown_keys(item, FILE_KEYS, path)
        yield from missing_keys(item, FILE_KEYS, path)
        yield from strings_in(item, FILE_KEYS, path)
        name, output = item.get("PropertyFileName"), item.get("OutputName")
        if isinstance(name, str) and name in seen:
            yield _twice(f"{path}.PropertyFileName", name)
        elif isinstance(name, str):
            seen.add(name)
        if isinstance(output, str) and output not in outputs:
            yield Problem(
                path=f"{path}.OutputName",
                rule="unknown-output",
                wrong=f"step {step.name} has no output {output!r}; {allowed(outputs)}",
                fix=rename_fix(output, outputs, "Name an output of this step"),
            )
