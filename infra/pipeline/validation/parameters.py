"""The pipeline's parameters: names, types, defaults and choices."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from infra.pipeline.validation.document import Definition, Parameter, has_token
from infra.pipeline.validation.kinds import KINDS
from infra.pipeline.validation.problem import Problem
from infra.pipeline.validation.structure import missing_keys, strings_in, unknown_keys, wrong_type
from infra.pipeline.validation.wording import allowed, rename_fix, shown, type_of

MOST_PARAMETERS: Final = 200
MOST_CHARACTERS: Final = 1024
"""Of a value. Source: StartPipelineExecution, PipelineParameters."""


def holds(kind: str, value: object) -> bool:
    """Whether a parameter of this type can hold the value; a boolean is not an integer."""
    if kind == "String":
        return isinstance(value, str)
    if kind == "Boolean":
        return isinstance(value, bool)
    if kind == "Integer":
        return isinstance(value, int) and not isinstance(value, bool)
    # JSON written through jsii turns 1.0 into 1, so an integer is a float.
    return kind == "Float" and isinstance(value, int | float) and not isinstance(value, bool)


def check_parameters(definition: Definition) -> Iterator[Problem]:
    """Judge all parameters."""
    count = len(definition.parameters)
    if count > MOST_PARAMETERS:
        yield Problem(
            path="Parameters",
            rule="too-many-parameters",
            wrong=f"{count} parameters; allowed: at most {MOST_PARAMETERS}",
            fix="Remove some",
        )
    names = Counter(parameter.name for parameter in definition.parameters)
    for parameter in definition.parameters:
        first = definition.parameter_by_name.get(parameter.name)
        if first and first is not parameter:
            yield Problem(
                path=f"{parameter.path}.Name",
                rule="duplicate-parameter",
                wrong=f"{parameter.name!r} is declared {names[parameter.name]} times",
                fix="Rename or remove one of them",
            )
        yield from _parameter(parameter)


def _parameter(parameter: Parameter) -> Iterator[Problem]:
    raw, path = parameter.raw, parameter.path
    yield from unknown_keys(raw, ("Name", "Type", "DefaultValue", "EnumValues"), path)
    yield from missing_keys(raw, ("Name", "Type"), path)
    yield from strings_in(raw, ("Name", "Type"), path)
    if parameter.kind and parameter.kind not in KINDS:
        yield Problem(
            path=f"{path}.Type",
            rule="parameter-type",
            wrong=f"{shown(parameter.kind)}; {allowed(KINDS)}",
            fix=rename_fix(parameter.kind, KINDS, "Use one of these"),
        )
    elif "DefaultValue" in raw:
        yield from _default(parameter, raw["DefaultValue"])
    if "EnumValues" in raw:
        yield from _choices(parameter, raw["EnumValues"])


def _default(parameter: Parameter, value: object) -> Iterator[Problem]:
    path = f"{parameter.path}.DefaultValue"
    if not holds(parameter.kind, value):
        yield Problem(
            path=path,
            rule="parameter-default-type",
            wrong=f"{shown(value)} is {type_of(value)}; allowed: a value of type {parameter.kind}",
            fix=f"Give a value of type {parameter.kind}, or change Type",
        )
    elif isinstance(value, str) and len(value) > MOST_CHARACTERS:
        yield Problem(
            path=path,
            rule="parameter-value-length",
            wrong=f"{len(value)} characters; allowed: at most {MOST_CHARACTERS}",
            fix="Shorten it, or pass the S3 URI of a file",
        )


def _choices(parameter: Parameter, choices: object) -> Iterator[Problem]:
    path = f"{parameter.path}.EnumValues"
    if parameter.kind != "String":
        yield Problem(
            path=path,
            rule="enum-values-need-string",
            wrong=f"the parameter's type is {parameter.kind}; allowed: EnumValues on String only",
            fix="Remove EnumValues, or make the parameter a String",
        )
        return
    if not isinstance(choices, list) or not choices:
        yield wrong_type(choices, "a list of one or more strings", path)
        return
    for index, choice in enumerate(choices):
        if not isinstance(choice, str):
            yield wrong_type(choice, "a string", f"{path}[{index}]")
    default = parameter.raw.get("DefaultValue")
    if (
        isinstance(default, str)
        and default not in choices
        and not any(map(has_token, [*choices, default]))
    ):
        yield Problem(
            path=f"{parameter.path}.DefaultValue",
            rule="default-not-a-choice",
            wrong=f"{shown(default)} is none of EnumValues; {allowed(list(map(str, choices)))}",
            fix=rename_fix(default, [str(item) for item in choices], "Use one of EnumValues"),
        )
