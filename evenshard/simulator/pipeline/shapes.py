"""Checks JSON values against declared shapes: nothing in a definition is ignored silently.

A field that a shape does not name is refused. A field that changes nothing on simulated hosts is
named as `NoEffect`, with the reason: being ignored is then a decision and not an oversight.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenshard.simulator.errors import DefinitionError
from evenshard.simulator.pipeline.expressions import is_expression


@dataclass(frozen=True, slots=True)
class Structure:
    """A JSON object with declared fields."""

    fields: Mapping[str, "Shape"]
    required: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ListOf:
    """A JSON array; members are told apart by the field `unique`, where one is named."""

    member: "Shape"
    unique: str | None = None


@dataclass(frozen=True, slots=True)
class MapOf:
    """A JSON object with names that the user chose."""

    value: "Shape"


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of the few values that are simulated."""

    values: tuple[str | bool, ...]


@dataclass(frozen=True, slots=True)
class Count:
    """An integer of at least `minimum` and at most `maximum`."""

    minimum: int
    maximum: int | None = None
    """None: no limit. Else what one machine can simulate: SageMaker allows more."""


@dataclass(frozen=True, slots=True)
class Uri:
    """An object store address, `s3://bucket/key`."""


@dataclass(frozen=True, slots=True)
class NoEffect:
    """Anything: it means something on SageMaker and nothing here."""

    reason: str


@dataclass(frozen=True, slots=True)
class Primitive:
    """A string, number or boolean."""


Shape = type | Structure | ListOf | MapOf | OneOf | Count | Uri | NoEffect | Primitive

_JSON_NAMES = {str: "a string", int: "an integer", float: "a number", bool: "true or false"}


def check(value: object, shape: Shape, path: str) -> None:
    """Check a value; pipeline expressions in it pass, for they have no value before the run.

    Args:
        value: from json.loads.
        shape: what is allowed.
        path: where the value stands, for the message.

    Raises:
        DefinitionError: names the path, what was given and what is allowed.
    """
    if is_expression(value) or isinstance(shape, NoEffect):
        return
    if isinstance(shape, Structure):
        _check_structure(value, shape, path)
    elif isinstance(shape, ListOf):
        _check_list(value, shape, path)
    elif isinstance(shape, MapOf):
        for name, member in _object(value, path).items():
            check(member, shape.value, f"{path}.{name}")
    else:
        _check_leaf(value, shape, path)


def _object(value: object, path: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DefinitionError(path, f"{_shown(value)} is not an object. Write a JSON object.")
    return value


def _check_structure(value: object, shape: Structure, path: str) -> None:
    members = _object(value, path)
    for name, member in members.items():
        if name not in shape.fields:
            allowed = ", ".join(sorted(shape.fields))
            raise DefinitionError(
                f"{path}.{name}",
                f"the simulator does not support this field, and ignoring it would make the run "
                f"mean something else. It supports {allowed}. Remove the field.",
            )
        check(member, shape.fields[name], f"{path}.{name}")
    for name in shape.required:
        if name not in members:
            raise DefinitionError(path, f"{name} is missing. Add it.")


def _check_list(value: object, shape: ListOf, path: str) -> None:
    if not isinstance(value, list):
        raise DefinitionError(path, f"{_shown(value)} is not a list. Write a JSON array.")
    for index, member in enumerate(value):
        check(member, shape.member, f"{path}[{index}]")
    if shape.unique is not None:
        _check_unique(value, shape.unique, path)


def _check_unique(members: Sequence[Mapping[str, Any]], field: str, path: str) -> None:
    seen: set[str] = set()
    for index, member in enumerate(members):
        name = member.get(field)
        if name in seen:
            raise DefinitionError(
                f"{path}[{index}].{field}",
                f"{name!r} is there twice. Names must differ: rename one.",
            )
        if isinstance(name, str):
            seen.add(name)


def _check_leaf(value: object, shape: Shape, path: str) -> None:
    if isinstance(shape, OneOf):
        if value not in shape.values:
            allowed = " or ".join(str(allowed) for allowed in shape.values)
            raise DefinitionError(path, f"{_shown(value)} is not simulated. Use {allowed}.")
    elif isinstance(shape, Count):
        _check_count(value, shape, path)
    elif isinstance(shape, Uri):
        _check_type(value, str, path)
        if not re.fullmatch(r"s3://[^/]+(/.*)?", str(value)):
            raise DefinitionError(path, f"{value!r} is no S3 URI. Write s3://bucket/key.")
    elif isinstance(shape, type):
        _check_type(value, shape, path)
    elif not isinstance(value, str | int | float):
        raise DefinitionError(path, f"{_shown(value)} must be a string, a number or a boolean.")


def _check_count(value: object, shape: Count, path: str) -> None:
    _check_type(value, int, path)
    assert isinstance(value, int)  # noqa: S101 - checked in the line above
    if value < shape.minimum:
        raise DefinitionError(path, f"{value} is below {shape.minimum}, the least allowed.")
    if shape.maximum is not None and value > shape.maximum:
        raise DefinitionError(
            path,
            f"{value} is above {shape.maximum}, the most that is simulated on one machine. "
            f"Use {shape.minimum} to {shape.maximum}.",
        )


def _check_type(value: object, expected: type, path: str) -> None:
    accepted: tuple[type, ...] = (int, float) if expected is float else (expected,)
    wrong_boolean = isinstance(value, bool) and expected is not bool
    if isinstance(value, accepted) and not wrong_boolean:
        return
    advice = "Wrap it in Std:Join, which makes a string of it." if expected is str else ""
    raise DefinitionError(
        path, f"{_shown(value)} is not {_JSON_NAMES[expected]}. {advice}".rstrip()
    )


def _shown(value: object) -> str:
    text = repr(value)
    limit = 80
    return text if len(text) <= limit else text[: limit - 3] + "..."
