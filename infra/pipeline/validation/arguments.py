"""Walks Arguments against the service model's shapes.

botocore's own ParamValidator checks neither enums nor patterns, and stops at expressions.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

from botocore.model import ListShape, MapShape, Shape, StringShape, StructureShape

from infra.pipeline.validation.document import Definition, Parameter, Step, as_list, has_token
from infra.pipeline.validation.parameters import holds
from infra.pipeline.validation.patterns import compiled
from infra.pipeline.validation.problem import Problem
from infra.pipeline.validation.references import References, is_expression
from infra.pipeline.validation.service_model import (
    CREATE_OPERATIONS,
    FILLED_BY_PIPELINES,
    input_shape,
)
from infra.pipeline.validation.structure import missing_keys, unknown_keys, wrong_type
from infra.pipeline.validation.wording import allowed, rename_fix, shown

INTEGERS: Final = ("integer", "long")
FLOATS: Final = ("float", "double")
FIRST_OF_LIST: Final = "#{Token["
"""A list that CloudFormation fills is rendered as a list of one such token."""


def check_arguments(definition: Definition) -> Iterator[Problem]:
    """Judge the Arguments of every step that is an API request."""
    judge = ArgumentJudge(References(definition))
    for step in definition.of_kind(*CREATE_OPERATIONS):
        if isinstance(step.raw.get("Arguments"), dict):
            yield from judge.request(step)


class ArgumentJudge:
    """Compares JSON values with shapes."""

    def __init__(self, references: References) -> None:
        """Use these references to type the expressions that are met."""
        self._references = references
        self._literals: Mapping[str, Callable[[object, Shape, str], Iterator[Problem]]] = {
            "structure": self._structure,
            "list": self._list,
            "map": self._map,
            "string": _string,
            "boolean": _boolean,
            **dict.fromkeys(INTEGERS, _integer),
            **dict.fromkeys(FLOATS, _float),
        }

    def request(self, step: Step) -> Iterator[Problem]:
        """Judge the Arguments of one step."""
        shape = input_shape(step.kind)
        filled = {FILLED_BY_PIPELINES.get(step.kind, "")}
        yield from self._structure(step.arguments, shape, step.arguments_path, filled)

    def value(self, value: object, shape: Shape, path: str) -> Iterator[Problem]:
        """Judge one value, be it an expression or not."""
        if is_expression(value):
            yield from self._expression(value, shape, path)
        elif judge := self._literals.get(shape.type_name):
            yield from judge(value, shape, path)

    def _expression(self, value: object, shape: Shape, path: str) -> Iterator[Problem]:
        problems = list(self._references.expect(value, shape.type_name, path))
        yield from problems
        parameter = self._references.read(value, path).parameter
        if parameter and not problems:
            yield from self._values_of(parameter, shape, path)

    def _values_of(self, parameter: Parameter, shape: Shape, path: str) -> Iterator[Problem]:
        """Judge what a parameter may hold by the field that reads it.

        An empty default is allowed: it asks whoever starts the pipeline for a value.
        """
        raw = parameter.raw
        candidates = [(f"{parameter.path}.DefaultValue", raw.get("DefaultValue"))]
        for index, option in enumerate(as_list(raw.get("EnumValues"))):
            candidates.append((f"{parameter.path}.EnumValues[{index}]", option))
        for where, candidate in candidates:
            if candidate == "" or not holds(parameter.kind, candidate):
                continue
            for problem in self.value(candidate, shape, where):
                yield Problem(
                    path=where,
                    rule=problem.rule,
                    wrong=f"{problem.wrong}, because {path} reads it",
                    fix=problem.fix,
                )

    def _structure(
        self, value: object, shape: Shape, path: str, filled: Collection[str] = ()
    ) -> Iterator[Problem]:
        if not isinstance(shape, StructureShape):
            raise TypeError(f"{shape.name} is a {shape.type_name}, not a structure")
        if not isinstance(value, dict):
            yield wrong_type(value, f"an object ({shape.name})", path)
            return
        yield from unknown_keys(value, shape.members, path)
        yield from missing_keys(value, [k for k in shape.required_members if k not in filled], path)
        if shape.is_tagged_union and len(value) != 1:
            yield Problem(
                path=path,
                rule="union",
                wrong=f"{len(value)} keys; allowed: exactly one of {', '.join(shape.members)}",
                fix="Keep one of them",
            )
        for key, item in value.items():
            if key in shape.members:
                yield from self.value(item, shape.members[key], f"{path}.{key}")

    def _list(self, value: object, shape: Shape, path: str) -> Iterator[Problem]:
        if not isinstance(shape, ListShape):
            raise TypeError(f"{shape.name} is a {shape.type_name}, not a list")
        if not isinstance(value, list):
            yield wrong_type(value, "a list", path)
            return
        if len(value) == 1 and isinstance(value[0], str) and value[0].startswith(FIRST_OF_LIST):
            return
        yield from _within(len(value), shape, path, "members")
        for index, item in enumerate(value):
            yield from self.value(item, shape.member, f"{path}[{index}]")

    def _map(self, value: object, shape: Shape, path: str) -> Iterator[Problem]:
        if not isinstance(shape, MapShape):
            raise TypeError(f"{shape.name} is a {shape.type_name}, not a map")
        if not isinstance(value, dict):
            yield wrong_type(value, "an object of names and values", path)
            return
        yield from _within(len(value), shape, path, "entries")
        for key, item in value.items():
            yield from _string(key, shape.key, f"{path}.{key}")
            yield from self.value(item, shape.value, f"{path}.{key}")


def _string(value: object, shape: Shape, path: str) -> Iterator[Problem]:
    if not isinstance(value, str):
        yield wrong_type(value, "a string", path)
        return
    if has_token(value):
        return
    options = shape.enum if isinstance(shape, StringShape) else []
    if options and value not in options:
        yield Problem(
            path=path,
            rule="enum",
            wrong=f"{shown(value)}; {allowed(options)}",
            fix=rename_fix(value, options, "Use one of these"),
        )
        return
    pattern = shape.metadata.get("pattern")
    expression = compiled(pattern) if pattern else None
    if expression and not expression.fullmatch(value):
        yield Problem(
            path=path,
            rule="pattern",
            wrong=f"{shown(value)}; allowed: text of the form {pattern}",
            fix="Write it in this form",
        )
    yield from _within(len(value), shape, path, "characters")


def _integer(value: object, shape: Shape, path: str) -> Iterator[Problem]:
    if isinstance(value, bool) or not isinstance(value, int):
        yield wrong_type(value, "an integer", path)
        return
    yield from _within(value, shape, path, "")


def _float(value: object, shape: Shape, path: str) -> Iterator[Problem]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        yield wrong_type(value, "a number", path)
        return
    yield from _within(value, shape, path, "")


def _boolean(value: object, shape: Shape, path: str) -> Iterator[Problem]:
    del shape
    if not isinstance(value, bool):
        yield wrong_type(value, "a boolean", path)


def _within(number: float, shape: Shape, path: str, unit: str) -> Iterator[Problem]:
    """Judge a value, or the length of one, by the shape's range."""
    least, most = shape.metadata.get("min"), shape.metadata.get("max")
    too_small = least is not None and number < least
    too_large = most is not None and number > most
    if not (too_small or too_large):
        return
    bounds = f"{least} or more" if most is None else f"{least or 0} to {most}"
    yield Problem(
        path=path,
        rule="length" if unit else "range",
        wrong=f"{number} {unit}".rstrip() + f"; allowed: {bounds}",
        fix=f"Give {'more' if too_small else 'fewer'} {unit}" if unit else "Give a value in range",
    )
