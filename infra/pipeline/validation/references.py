"""What a pipeline expression is worth: the type of every Get, Std:Join and Std:JsonGet.

A `Get` has the type of its parameter, or of the property in the Describe output of the step that
it reads. Types are the service model's: string, integer, float, boolean, timestamp, list, map,
structure. None stands for a value whose type is known only when the pipeline runs.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from infra.pipeline.validation.document import (
    CONDITION,
    PROCESSING,
    Definition,
    Parameter,
    Step,
    as_list,
    as_mapping,
)
from infra.pipeline.validation.kinds import KINDS, SCALARS, fits, plain
from infra.pipeline.validation.problem import Problem
from infra.pipeline.validation.properties import property_of
from infra.pipeline.validation.structure import missing_keys, unknown_keys, wrong_type
from infra.pipeline.validation.wording import allowed, rename_fix, shown

GET: Final = "Get"
JOIN: Final = "Std:Join"
JSON_GET: Final = "Std:JsonGet"
EXPRESSIONS: Final = (GET, JOIN, JSON_GET)

EXECUTION_VARIABLES: Final = (
    "StartDateTime",
    "CurrentDateTime",
    "PipelineName",
    "PipelineArn",
    "PipelineExecutionId",
    "PipelineExecutionArn",
    "TrainingJobName",
    "ProcessingJobName",
)
"""All of them strings when the pipeline runs. Source: sagemaker-core, execution_variables.py."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The outcome of typing one expression."""

    kind: str | None = None
    problems: tuple[Problem, ...] = ()
    parameter: Parameter | None = None
    """The parameter that a plain Get reads."""


def is_expression(value: object) -> bool:
    """Whether a JSON value is a pipeline expression."""
    return isinstance(value, dict) and len(value) == 1 and next(iter(value)) in EXPRESSIONS


def gets_in(value: object) -> Iterator[str]:
    """The text of every Get in a JSON value, at any depth."""
    if isinstance(value, dict):
        if is_expression(value) and isinstance(value.get(GET), str):
            yield value[GET]
        for inner in value.values():
            yield from gets_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from gets_in(inner)


def step_read_by(get: str) -> str | None:
    """The name of the step that a Get reads, None where it reads none."""
    head, _, rest = get.partition(".")
    return rest.partition(".")[0] if head == "Steps" else None


class References:
    """Types the expressions of one definition."""

    def __init__(self, definition: Definition) -> None:
        """Read parameters and steps from the definition."""
        self._definition = definition

    def read(self, expression: object, path: str, *, in_condition: bool = False) -> Reading:
        """Type an expression; `is_expression` must hold for it.

        Args:
            expression: `{"Get": ...}`, `{"Std:Join": ...}` or `{"Std:JsonGet": ...}`.
            path: Where it stands.
            in_condition: Whether it is one side of a condition: only there JsonGet is evaluated.
        """
        ((name, body),) = as_mapping(expression).items()
        if name == JOIN:
            return Reading(kind="string", problems=tuple(self._join(body, f"{path}.{JOIN}")))
        if name == JSON_GET:
            problems = tuple(self._json_get(body, f"{path}.{JSON_GET}", in_condition=in_condition))
            return Reading(problems=problems)
        if not isinstance(body, str):
            return Reading(problems=(wrong_type(body, "a string", f"{path}.{GET}"),))
        return self._get(body, path)

    def expect(self, expression: object, kind: str, path: str) -> Iterator[Problem]:
        """Type an expression and compare it with the kind its field wants."""
        reading = self.read(expression, path)
        yield from reading.problems
        if not reading.problems and not fits(reading.kind, kind):
            yield _mismatch(reading.kind, kind, expression, path)

    def scalar(self, value: object, path: str, *, in_condition: bool = False) -> Iterator[Problem]:
        """What keeps a value from being a primitive or an expression with a primitive value."""
        if is_expression(value):
            reading = self.read(value, path, in_condition=in_condition)
            yield from reading.problems
            if not reading.problems and reading.kind and plain(reading.kind) not in SCALARS:
                yield _mismatch(reading.kind, "string", value, path)
        elif not isinstance(value, str | int | float | bool):
            yield wrong_type(value, "a string, a number, a boolean or an expression", path)

    def string(self, value: object, path: str) -> Iterator[Problem]:
        """What keeps a value from being a string or an expression with a string value."""
        if is_expression(value):
            yield from self.expect(value, "string", path)
        elif not isinstance(value, str):
            yield wrong_type(value, "a string or an expression", path)

    def _get(self, get: str, path: str) -> Reading:
        head, _, rest = get.partition(".")
        if head == "Parameters" and rest:
            return self._parameter(rest, path)
        if head == "Execution" and rest:
            return self._execution(rest, path)
        if head == "Steps" and rest:
            return self._step(rest, path)
        return _failed(
            path,
            "malformed-get",
            f"{shown(get)}; allowed: Parameters.NAME, Steps.NAME.PROPERTY or Execution.NAME",
            "Write one of these three forms",
        )

    def _parameter(self, name: str, path: str) -> Reading:
        declared = self._definition.parameter_by_name
        if name not in declared:
            return _failed(
                path,
                "undeclared-parameter",
                f"Get reads a parameter {name!r} that is not declared; {allowed(declared)}",
                rename_fix(name, declared, f"Declare {name} under Parameters"),
            )
        parameter = declared[name]
        return Reading(kind=KINDS.get(parameter.kind), parameter=parameter)

    def _execution(self, name: str, path: str) -> Reading:
        if name in EXECUTION_VARIABLES:
            return Reading(kind="string")
        return _failed(
            path,
            "unknown-execution-variable",
            f"there is no Execution.{name}; {allowed(EXECUTION_VARIABLES)}",
            rename_fix(name, EXECUTION_VARIABLES, "Use one of these"),
        )

    def _step(self, rest: str, path: str) -> Reading:
        name, _, property_path = rest.partition(".")
        step = self._definition.step_by_name.get(name)
        if step is None:
            return self._unknown_step(name, path)
        if step.kind == CONDITION:
            return _failed(
                path,
                "depends-on-condition",
                f"Get reads the Condition step {name}; nothing may depend on a condition",
                f"Move this step into a branch of {name}, or read another step",
            )
        if property_path.startswith("PropertyFiles."):
            return _failed(
                path,
                "property-file-without-json-get",
                f"{shown(property_path)} is a whole file; allowed: a value of it",
                "Read it with Std:JsonGet in a condition",
            )
        found = property_of(step, property_path, path)
        return Reading(problems=(found,)) if isinstance(found, Problem) else Reading(kind=found)

    def _unknown_step(self, name: str, path: str) -> Reading:
        names = self._definition.step_by_name
        return _failed(
            path,
            "unknown-step",
            f"Get reads a step {name!r} that does not exist; {allowed(names)}",
            rename_fix(name, names, "Read one of these steps"),
        )

    def _join(self, body: object, path: str) -> Iterator[Problem]:
        if not isinstance(body, dict):
            yield wrong_type(body, "an object with On and Values", path)
            return
        yield from unknown_keys(body, ("On", "Values"), path)
        yield from missing_keys(body, ("Values",), path)
        if "On" in body and not isinstance(body["On"], str):
            yield wrong_type(body["On"], "a string", f"{path}.On")
        if "Values" in body and not isinstance(body["Values"], list):
            yield wrong_type(body["Values"], "a list", f"{path}.Values")
        for index, value in enumerate(as_list(body.get("Values"))):
            yield from self.scalar(value, f"{path}.Values[{index}]")

    def _json_get(self, body: object, path: str, *, in_condition: bool) -> Iterator[Problem]:
        if not in_condition:
            yield Problem(
                path=path,
                rule="json-get-outside-condition",
                wrong="Std:JsonGet stands outside a condition; only conditions evaluate it",
                fix="Compare it in a Condition step, or read a step property such as ExitMessage",
            )
            return
        if not isinstance(body, dict):
            yield wrong_type(body, "an object with PropertyFile and Path", path)
            return
        yield from unknown_keys(body, ("PropertyFile", "S3Uri", "Path"), path)
        yield from missing_keys(body, ("Path",), path)
        if "Path" in body and not (isinstance(body["Path"], str) and body["Path"]):
            yield wrong_type(body["Path"], "a JSON path", f"{path}.Path")
        if ("PropertyFile" in body) == ("S3Uri" in body):
            yield Problem(
                path=path,
                rule="json-get-source",
                wrong="both or neither of PropertyFile and S3Uri; allowed: exactly one",
                fix="Name the property file of a Processing step",
            )
        elif "S3Uri" in body:
            yield from self.string(body["S3Uri"], f"{path}.S3Uri")
        else:
            yield from self._property_file(body["PropertyFile"], f"{path}.PropertyFile")

    def _property_file(self, value: object, path: str) -> Iterator[Problem]:
        get = as_mapping(value).get(GET) if is_expression(value) else None
        parts = get.split(".", 3) if isinstance(get, str) else []
        if len(parts) != 4 or parts[0] != "Steps" or parts[2] != "PropertyFiles":  # noqa: PLR2004 Steps.NAME.PropertyFiles.FILE has four parts
            yield Problem(
                path=path,
                rule="malformed-property-file",
                wrong=f"{shown(value)}; allowed: {{'Get': 'Steps.NAME.PropertyFiles.FILE'}}",
                fix="Name a property file of a Processing step",
            )
            return
        step = self._definition.step_by_name.get(parts[1])
        if step is None:
            yield from self._unknown_step(parts[1], path).problems
            return
        files = _property_files(step)
        if parts[3] not in files:
            yield Problem(
                path=path,
                rule="unknown-property-file",
                wrong=f"step {step.name} ({step.kind}) has no property file {parts[3]!r}; "
                f"{allowed(files)}",
                fix=rename_fix(parts[3], files, f"Declare it in PropertyFiles of {step.name}"),
            )


def _property_files(step: Step) -> list[str]:
    if step.kind != PROCESSING:
        return []
    files = as_list(step.raw.get("PropertyFiles"))
    names = [as_mapping(item).get("PropertyFileName") for item in files]
    return [name for name in names if isinstance(name, str)]


def _failed(path: str, rule: str, wrong: str, fix: str) -> Reading:
    return Reading(problems=(Problem(path=path, rule=rule, wrong=wrong, fix=fix),))


def _mismatch(given: str | None, wanted: str, expression: object, path: str) -> Problem:
    given, wanted = plain(given or ""), plain(wanted)
    if wanted == "string" and given in SCALARS:
        fix = f"Wrap it in Std:Join: {{'Std:Join': {{'On': '', 'Values': [{expression}]}}}}"
    elif given in SCALARS:
        fix = f"Read a value of type {wanted}, or change the parameter's Type"
    else:
        fix = "Read one of its members"
    return Problem(
        path=path,
        rule="expression-type",
        wrong=f"{shown(expression)} is of type {given}; allowed: {wanted}",
        fix=fix,
    )
