"""The type of a step property such as `ModelArtifacts.S3ModelArtifacts`."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from botocore.model import ListShape, MapShape, Shape, StructureShape

from infra.pipeline.validation.document import (
    CALLBACK,
    LAMBDA,
    TRAINING,
    Step,
    as_list,
    as_mapping,
    has_token,
)
from infra.pipeline.validation.kinds import KINDS
from infra.pipeline.validation.problem import Problem
from infra.pipeline.validation.service_model import CREATE_OPERATIONS, property_shapes
from infra.pipeline.validation.wording import allowed, rename_fix, shown

NAME_KEYS: Final = ("OutputName", "InputName", "ChannelName", "MetricName")
"""Lists whose members have one of these keys can be read by name: `Outputs['train']`."""

_OUTPUT_PARAMETER = re.compile(r"OutputParameters\['([^']*)'\]")
_TOKEN = re.compile(r"(?:^|\.)([A-Za-z]\w*)|\['([^']*)'\]|\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class _Place:
    """A point on the way through a Describe output."""

    shape: Shape
    given: object
    """What the step's own Arguments hold at the same point, None where nothing."""


@dataclass(frozen=True, slots=True)
class _Miss:
    """Why a part of the path leads nowhere."""

    wrong: str
    fix: str
    rule: str = "unknown-property"


def property_of(step: Step, text: str, path: str) -> str | Problem | None:
    """The type of a property.

    Args:
        step: The step that is read.
        text: The path after the step's name, `ModelArtifacts.S3ModelArtifacts`.
        path: Where the Get stands, for the problem.

    Returns:
        The type; a problem where there is no such property; None where the type is unknown.
    """
    if step.kind in (LAMBDA, CALLBACK):
        found = _output_parameter(step, text)
    elif step.kind in CREATE_OPERATIONS:
        found = _described(step, text)
    elif step.kind == "Fail":
        found = _Miss("a Fail step ends the execution and has no properties", "Read another step")
    else:
        return None  # an unknown step type is its own problem
    if isinstance(found, _Miss):
        wrong = f"Get reads {shown(text)} of {step.name} ({step.kind}): {found.wrong}"
        return Problem(path=path, rule=found.rule, wrong=wrong, fix=found.fix)
    return found


def _output_parameter(step: Step, text: str) -> str | _Miss | None:
    kinds = _output_parameters(step)
    match = _OUTPUT_PARAMETER.fullmatch(text)
    if match is None:
        return _Miss("allowed: OutputParameters['NAME']", "Read one of its output parameters")
    name = match[1]
    if name not in kinds:
        return _Miss(
            f"there is no output {name!r}; {allowed(kinds)}",
            rename_fix(name, kinds, f"Declare it in OutputParameters of {step.name}"),
            "unknown-output",
        )
    return KINDS.get(kinds[name])


def _output_parameters(step: Step) -> dict[str, str]:
    kinds: dict[str, str] = {}
    for item in as_list(step.raw.get("OutputParameters")):
        fields = as_mapping(item)
        name = fields.get("OutputName")
        if isinstance(name, str):
            kinds[name] = str(fields.get("OutputType"))
    return kinds


def _described(step: Step, text: str) -> str | _Miss | None:
    parts = list(_parts(text))
    members = property_shapes(step.kind)
    if not parts or not isinstance(parts[0], str) or parts[0].startswith("'"):
        return _Miss("allowed: A.B, A['NAME'] or A[0]", "Write a property path of this form")
    first = parts[0]
    if first not in members:
        return _no_member(first, members, f"the output of {step.kind}")
    place = _Place(members[first], _given(step, first))
    for part in parts[1:]:
        found = _descend(place, part)
        if isinstance(found, _Miss):
            return found
        place = found
    return str(place.shape.type_name)


def _parts(text: str) -> Iterator[str | int]:
    """Names as they are, keys with a leading quote, positions as numbers; nothing if malformed."""
    matches = list(_TOKEN.finditer(text))
    if "".join(match[0] for match in matches) != text:
        return
    for name, key, position in (match.groups() for match in matches):
        if name is not None:
            yield name
        elif key is not None:
            yield f"'{key}"
        else:
            yield int(position)


def _given(step: Step, member: str) -> object:
    """What Arguments say about a member of the Describe output."""
    if step.kind == TRAINING and member == "FinalMetricDataList":
        metrics = as_list(step.argument("AlgorithmSpecification", "MetricDefinitions"))
        return [{"MetricName": as_mapping(metric).get("Name")} for metric in metrics]
    return step.arguments.get(member)


def _descend(place: _Place, part: str | int) -> _Place | _Miss:
    shape = place.shape
    if isinstance(part, int) or part.startswith("'"):
        key = part if isinstance(part, int) else part[1:]
        if isinstance(shape, ListShape):
            return _list_member(shape, place.given, key)
        if isinstance(shape, MapShape) and isinstance(key, str):
            return _map_value(shape, place.given, key)
        return _Miss(f"{shape.name} is no list that {key!r} could select from", "Remove [...]")
    if not isinstance(shape, StructureShape):
        return _Miss(f"{shape.name} is a {shape.type_name} and has no members", f"Remove .{part}")
    if part not in shape.members:
        return _no_member(part, shape.members, shape.name)
    return _Place(shape.members[part], as_mapping(place.given).get(part))


def _no_member(name: str, members: Mapping[str, object], owner: str) -> _Miss:
    return _Miss(
        f"{owner} has no {name!r}; {allowed(members)}",
        rename_fix(name, members, "Read one of these"),
    )


def _list_member(shape: ListShape, given: object, key: str | int) -> _Place | _Miss:
    items = as_list(given)
    if isinstance(key, int):
        if items and key >= len(items):
            return _Miss(f"there are {len(items)} members", "Use a smaller index", "unknown-output")
        return _Place(shape.member, items[key] if items else None)
    members = shape.member.members if isinstance(shape.member, StructureShape) else {}
    name_key = next((name for name in NAME_KEYS if name in members), None)
    if name_key is None:
        return _Miss(f"{shape.name} is read by position", f"Write [0] instead of ['{key}']")
    named = {str(as_mapping(item).get(name_key)): item for item in items}
    if key in named:
        return _Place(shape.member, named[key])
    if any(has_token(name) for name in named):
        return _Place(shape.member, None)
    return _Miss(
        f"there is no {name_key} {key!r}; {allowed(named)}",
        rename_fix(key, named, "Read one of these"),
        "unknown-output",
    )


def _map_value(shape: MapShape, given: object, key: str) -> _Place | _Miss:
    if isinstance(given, dict) and key not in given:
        return _Miss(
            f"there is no key {key!r}; {allowed(given)}",
            rename_fix(key, given, "Read one of these"),
            "unknown-output",
        )
    return _Place(shape.value, as_mapping(given).get(key))
