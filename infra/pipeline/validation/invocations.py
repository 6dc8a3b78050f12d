"""Steps that are no API request: Lambda, Callback and Fail."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from infra.pipeline.validation.document import (
    CALLBACK,
    FAIL,
    LAMBDA,
    Definition,
    Step,
    as_list,
    has_token,
)
from infra.pipeline.validation.kinds import KINDS
from infra.pipeline.validation.problem import Problem
from infra.pipeline.validation.references import References, is_expression
from infra.pipeline.validation.structure import (
    missing_keys,
    objects_in_list,
    unknown_keys,
    wrong_type,
)
from infra.pipeline.validation.wording import allowed, rename_fix, shown

MOST_OUTPUTS: Final = 50
MESSAGE_CHARACTERS: Final = 3072

TARGETS: Final[Mapping[str, tuple[str, re.Pattern[str], str]]] = {
    LAMBDA: (
        "FunctionArn",
        re.compile(r"arn:aws[a-z\-]*:lambda:[a-z0-9\-]+:\d{12}:function:[A-Za-z0-9\-_:$]+"),
        "arn:aws:lambda:REGION:ACCOUNT:function:NAME",
    ),
    CALLBACK: ("SqsQueueUrl", re.compile(r"https://\S+"), "an https:// URL"),
}
"""What a step of each type calls: key, pattern and its form in words."""


def check_invocations(definition: Definition) -> Iterator[Problem]:
    """Judge Lambda, Callback and Fail steps."""
    references = References(definition)
    for step in definition.of_kind(LAMBDA, CALLBACK):
        yield from _target(step)
        yield from _inputs(step, references)
        yield from _outputs(step)
    for step in definition.of_kind(FAIL):
        if isinstance(step.raw.get("Arguments"), dict):
            yield from _fail(step, references)


def _target(step: Step) -> Iterator[Problem]:
    key, pattern, form = TARGETS[step.kind]
    yield from missing_keys(step.raw, (key, "OutputParameters"), step.path)
    if key not in step.raw:
        return
    value = step.raw[key]
    if not isinstance(value, str):
        yield wrong_type(value, f"a string of the form {form}", f"{step.path}.{key}")
    elif not has_token(value) and not pattern.fullmatch(value):
        yield Problem(
            path=f"{step.path}.{key}",
            rule="pattern",
            wrong=f"{shown(value)}; allowed: {form}",
            fix="Write it in this form",
        )


def _inputs(step: Step, references: References) -> Iterator[Problem]:
    for name, value in step.arguments.items():
        path = f"{step.arguments_path}.{name}"
        if isinstance(value, dict | list) and not is_expression(value):
            yield Problem(
                path=path,
                rule="nested-input",
                wrong=f"{shown(value)} is nested; allowed: strings, numbers, booleans",
                fix="Pass its values as inputs of their own, or as one JSON string",
            )
        else:
            yield from references.scalar(value, path)


def _outputs(step: Step) -> Iterator[Problem]:
    path = f"{step.path}.OutputParameters"
    yield from objects_in_list(step.raw, "OutputParameters", step.path)
    outputs = as_list(step.raw.get("OutputParameters"))
    if len(outputs) > MOST_OUTPUTS:
        yield Problem(
            path=path,
            rule="too-many-outputs",
            wrong=f"{len(outputs)} outputs; allowed: at most {MOST_OUTPUTS}",
            fix="Return fewer, or one JSON string",
        )
    seen: set[object] = set()
    for index, output in enumerate(outputs):
        if isinstance(output, dict):
            yield from _output(output, f"{path}[{index}]", seen)


def _output(output: Mapping[str, object], path: str, seen: set[object]) -> Iterator[Problem]:
    yield from unknown_keys(output, ("OutputName", "OutputType"), path)
    yield from missing_keys(output, ("OutputName", "OutputType"), path)
    name = output.get("OutputName", "-")
    if not isinstance(name, str) or not name:
        yield wrong_type(name, "a name", f"{path}.OutputName")
    elif "OutputName" in output and name in seen:
        yield Problem(
            path=f"{path}.OutputName",
            rule="duplicate-name",
            wrong=f"{name!r} is there twice",
            fix="Rename or remove one of them",
        )
    else:
        seen.add(name)
    kind = output.get("OutputType", "String")
    if not isinstance(kind, str) or kind not in KINDS:
        yield Problem(
            path=f"{path}.OutputType",
            rule="output-type",
            wrong=f"{shown(kind)}; {allowed(KINDS)}",
            fix=rename_fix(str(kind), KINDS, "Use one of these"),
        )


def _fail(step: Step, references: References) -> Iterator[Problem]:
    arguments, path = step.arguments, step.arguments_path
    yield from unknown_keys(arguments, ("ErrorMessage",), path)
    yield from missing_keys(arguments, ("ErrorMessage",), path)
    if "ErrorMessage" not in arguments:
        return
    message = arguments["ErrorMessage"]
    yield from references.string(message, f"{path}.ErrorMessage")
    if isinstance(message, str) and len(message) > MESSAGE_CHARACTERS:
        yield Problem(
            path=f"{path}.ErrorMessage",
            rule="length",
            wrong=f"{len(message)} characters; allowed: at most {MESSAGE_CHARACTERS}",
            fix="Shorten it",
        )
