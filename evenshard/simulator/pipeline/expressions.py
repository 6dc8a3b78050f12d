"""Pipeline expressions: `Get`, `Std:Join` and `Std:JsonGet`. Source: docs/facts.md 6."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evenshard.simulator.errors import DefinitionError, StepFailedError

_EXPRESSIONS = frozenset({"Get", "Std:Join", "Std:JsonGet"})
_TOKEN = re.compile(r"\.?([A-Za-z0-9_-]+)|\[(['\"])(.*?)\2\]|\[([0-9]+)\]")
_NAMED_BY = ("OutputName", "InputName", "ChannelName")
"""The field that tells members of a list apart: `Outputs['evaluation']`."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A parsed `Get`: `Steps.Train.ModelArtifacts.S3ModelArtifacts`."""

    root: str
    """Parameters, Execution or Steps."""
    name: str
    """The parameter, the execution variable or the step."""
    rest: tuple[str | int, ...]
    """What follows a step: names, and numbers for positions in a list."""
    text: str


@dataclass(slots=True, kw_only=True)
class Scope:
    """What expressions can see while an execution runs."""

    parameters: Mapping[str, Any]
    execution: Mapping[str, str]
    steps: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """Properties of the steps that have ended, by step name."""
    read_property_file: Callable[[str, str], bytes]
    """Step name, property file name -> its content."""
    read_object: Callable[[str], bytes]
    """s3:// URI -> content."""


def is_expression(value: object) -> bool:
    """Tell an expression from a plain JSON value."""
    return isinstance(value, dict) and len(value) == 1 and next(iter(value)) in _EXPRESSIONS


def references(value: object, path: str) -> Iterator[tuple[Reference, str]]:
    """Every `Get` below a value, with the path where it stands.

    Raises:
        DefinitionError: a `Get` that cannot be read.
    """
    if isinstance(value, dict):
        if is_expression(value) and "Get" in value:
            yield parse_reference(value["Get"], path), path
            return
        for name, member in value.items():
            yield from references(member, f"{path}.{name}")
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield from references(member, f"{path}[{index}]")


def parse_reference(text: object, path: str) -> Reference:
    """Read the text of a `Get`.

    Raises:
        DefinitionError: it names none of Parameters, Execution and Steps, or is cut short.
    """
    tokens = _tokens(text) if isinstance(text, str) else ()
    root, name, rest = (tokens[0], tokens[1], tokens[2:]) if len(tokens) > 1 else ("", "", ())
    if root not in ("Parameters", "Execution", "Steps") or bool(rest) != (root == "Steps"):
        raise DefinitionError(
            path,
            f"Get {text!r} cannot be read. Write Parameters.NAME, Execution.NAME or "
            "Steps.STEP.PROPERTY.",
        )
    return Reference(str(root), str(name), tuple(rest), str(text))


def _tokens(text: str) -> tuple[str | int, ...]:
    found: list[str | int] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            return ()
        plain, _, quoted, number = match.groups()
        found.append(int(number) if number is not None else quoted if plain is None else plain)
        position = match.end()
    return tuple(found)


def evaluate(value: object, scope: Scope, path: str) -> object:
    """Replace every expression below a value by what it stands for.

    Raises:
        DefinitionError: an expression that makes no sense, whatever the data.
        StepFailedError: a property file that lacks the value.
    """
    if isinstance(value, list):
        return [evaluate(member, scope, f"{path}[{i}]") for i, member in enumerate(value)]
    if not isinstance(value, dict):
        return value
    if not is_expression(value):
        return {name: evaluate(inner, scope, f"{path}.{name}") for name, inner in value.items()}
    operator, operand = next(iter(value.items()))
    if operator == "Get":
        return _get(parse_reference(operand, path), scope, path)
    if not isinstance(operand, dict):
        raise DefinitionError(path, f"{operator} needs an object, not {operand!r}.")
    join_or_json = _join if operator == "Std:Join" else _json_get
    return join_or_json(operand, scope, f"{path}.{operator}")


def _get(reference: Reference, scope: Scope, path: str) -> object:
    if reference.root == "Steps":
        if reference.name not in scope.steps:
            known = ", ".join(scope.steps) or "none"
            raise DefinitionError(
                path,
                f"Get {reference.text}: step {reference.name} has not run before this one. "
                f"Steps that have: {known}.",
            )
        return _walk(scope.steps[reference.name], reference, path)
    known_values = scope.parameters if reference.root == "Parameters" else scope.execution
    if reference.name not in known_values:
        allowed = ", ".join(known_values)
        raise DefinitionError(
            path, f"Get {reference.text}: no such name in {reference.root}. There are {allowed}."
        )
    return known_values[reference.name]


def _walk(properties: object, reference: Reference, path: str) -> object:
    current = properties
    for token in reference.rest:
        following = _member(current, token)
        if following is None:
            raise DefinitionError(
                path,
                f"Get {reference.text}: step {reference.name} has no {token!r} there. "
                f"There is {_choices(current)}.",
            )
        current = following
    return current


def _member(value: object, token: str | int) -> object | None:
    if isinstance(value, Mapping):
        return value.get(token)
    if not isinstance(value, list):
        return None
    if isinstance(token, int):
        return value[token] if token < len(value) else None
    return next((member for member in value if token in _names(member)), None)


def _names(member: object) -> tuple[object, ...]:
    return tuple(member.get(key) for key in _NAMED_BY) if isinstance(member, dict) else ()


def _choices(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(str(name) for name in value) or "nothing"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return f"the value {value!r}"


def _join(operand: Mapping[str, Any], scope: Scope, path: str) -> str:
    if set(operand) != {"On", "Values"} or not isinstance(operand["Values"], list):
        raise DefinitionError(path, 'write {"On": separator, "Values": [...]}, nothing else.')
    parts = evaluate(operand["Values"], scope, f"{path}.Values")
    assert isinstance(parts, list)  # noqa: S101 - evaluate keeps a list a list
    for index, part in enumerate(parts):
        if not isinstance(part, str | int | float):
            raise DefinitionError(
                f"{path}.Values[{index}]", f"{part!r} cannot be joined: only plain values can."
            )
    return str(operand["On"]).join(as_text(part) for part in parts)


def as_text(value: str | float) -> str:
    """A value as Std:Join and Lambda environments write it: JSON, without quotes for strings."""
    return value if isinstance(value, str) else json.dumps(value)


def _json_get(operand: Mapping[str, Any], scope: Scope, path: str) -> object:
    where = operand.get("Path")
    if set(operand) == {"PropertyFile", "Path"} and isinstance(where, str):
        reference = parse_reference(operand["PropertyFile"].get("Get"), f"{path}.PropertyFile")
        step, file = property_file_of(reference, f"{path}.PropertyFile")
        content, source = scope.read_property_file(step, file), f"property file {file} of {step}"
    elif set(operand) == {"S3Uri", "Path"} and isinstance(where, str):
        uri = evaluate(operand["S3Uri"], scope, f"{path}.S3Uri")
        content, source = scope.read_object(str(uri)), str(uri)
    else:
        raise DefinitionError(path, 'write {"PropertyFile": {"Get": ...}, "Path": "a.b"}.')
    return _value_at(content, where, source)


def property_file_of(reference: Reference, path: str) -> tuple[str, str]:
    """The step and the property file that `Steps.X.PropertyFiles.Y` names.

    Raises:
        DefinitionError: the reference names something else.
    """
    match reference:
        case Reference("Steps", step, ("PropertyFiles", str(file))):
            return step, file
    raise DefinitionError(
        path, f"Get {reference.text} names no property file. Write Steps.STEP.PropertyFiles.NAME."
    )


def _value_at(content: bytes, where: str, source: str) -> object:
    try:
        current: object = json.loads(content)
    except ValueError as error:
        raise StepFailedError(f"JsonGet: {source} is not JSON: {error}.") from error
    tokens: Sequence[str | int] = _tokens(where)
    for token in tokens:
        following = _member(current, token)
        if following is None:
            raise StepFailedError(
                f"JsonGet: {source} has no {where!r}: at {token!r} there is {_choices(current)}."
            )
        current = following
    if not tokens or isinstance(current, dict | list):
        raise StepFailedError(f"JsonGet: {where!r} in {source} is no single value.")
    return current
