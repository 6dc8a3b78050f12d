"""Condition steps: operators, operands and branches."""

from collections.abc import Iterator, Mapping
from typing import Final

from infra.pipeline.validation.document import BRANCH_KEYS, CONDITION, Definition, Step, as_list
from infra.pipeline.validation.kinds import NUMBERS, plain
from infra.pipeline.validation.problem import Problem
from infra.pipeline.validation.references import References, is_expression
from infra.pipeline.validation.structure import (
    missing_keys,
    objects_in_list,
    unknown_keys,
    wrong_type,
)
from infra.pipeline.validation.wording import allowed, rename_fix, shown

ORDERINGS: Final = ("GreaterThan", "GreaterThanOrEqualTo", "LessThan", "LessThanOrEqualTo")
COMPARISONS: Final = ("Equals", *ORDERINGS)
OPERATORS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(COMPARISONS, ("LeftValue", "RightValue")),
    "In": ("QueryValue", "Values"),
    "Not": ("Condition",),
    "Or": ("Conditions",),
}
"""Operators and their operands. Source: sagemaker-core, conditions.py."""
DEEPEST: Final = 20
"""Levels of Not and Or; a definition beyond it was not written by hand."""


def check_conditions(definition: Definition) -> Iterator[Problem]:
    """Judge every Condition step."""
    judge = _ConditionJudge(References(definition))
    for step in definition.of_kind(CONDITION):
        if isinstance(step.raw.get("Arguments"), dict):
            yield from judge.step(step)


class _ConditionJudge:
    def __init__(self, references: References) -> None:
        self._references = references

    def step(self, step: Step) -> Iterator[Problem]:
        arguments, path = step.arguments, step.arguments_path
        yield from unknown_keys(arguments, ("Conditions", *BRANCH_KEYS), path)
        yield from missing_keys(arguments, ("Conditions",), path)
        for key in BRANCH_KEYS:
            yield from objects_in_list(arguments, key, path)
        if not any(as_list(arguments.get(key)) for key in BRANCH_KEYS):
            yield Problem(
                path=path,
                rule="empty-branches",
                wrong="neither IfSteps nor ElseSteps holds a step",
                fix="Add a step to one of them",
            )
        yield from self._all(arguments, path, depth=0)

    def _all(self, raw: Mapping[str, object], path: str, depth: int) -> Iterator[Problem]:
        """Judge a list under `Conditions`."""
        yield from objects_in_list(raw, "Conditions", path)
        conditions = raw.get("Conditions")
        if conditions == []:
            yield Problem(
                path=f"{path}.Conditions",
                rule="no-condition",
                wrong="the list is empty; at least one condition is required",
                fix="Add a condition",
            )
        for index, condition in enumerate(as_list(conditions)):
            if isinstance(condition, dict):
                yield from self._condition(condition, f"{path}.Conditions[{index}]", depth)

    def _condition(self, raw: Mapping[str, object], path: str, depth: int) -> Iterator[Problem]:
        kind = raw.get("Type")
        if not isinstance(kind, str) or kind not in OPERATORS:
            yield Problem(
                path=f"{path}.Type",
                rule="condition-operator",
                wrong=f"{shown(kind)}; {allowed(OPERATORS)}",
                fix=rename_fix(str(kind), OPERATORS, "Use one of these"),
            )
            return
        operands = OPERATORS[kind]
        yield from unknown_keys(raw, ("Type", *operands), path)
        yield from missing_keys(raw, operands, path)
        if kind in COMPARISONS:
            yield from self._comparison(raw, path, kind)
        elif kind == "In":
            yield from self._membership(raw, path)
        elif depth >= DEEPEST:
            yield Problem(
                path=path,
                rule="condition-depth",
                wrong=f"more than {DEEPEST} levels of Not and Or",
                fix="Flatten it",
            )
        elif kind == "Or":
            yield from self._all(raw, path, depth + 1)
        else:
            yield from self._negation(raw, path, depth)

    def _negation(self, raw: Mapping[str, object], path: str, depth: int) -> Iterator[Problem]:
        inner = raw.get("Condition")
        if isinstance(inner, dict):
            yield from self._condition(inner, f"{path}.Condition", depth + 1)
        elif "Condition" in raw:
            yield wrong_type(inner, "a condition", f"{path}.Condition")

    def _comparison(self, raw: Mapping[str, object], path: str, kind: str) -> Iterator[Problem]:
        classes = []
        for side in OPERATORS[kind]:
            if side in raw:
                where = f"{path}.{side}"
                yield from self._references.scalar(raw[side], where, in_condition=True)
                classes.append(self._class_of(raw[side], where))
        known = {item for item in classes if item}
        if len(known) > 1:
            yield Problem(
                path=path,
                rule="condition-types",
                wrong=f"{kind} compares {' with '.join(str(item) for item in classes)}; "
                "allowed: two values of one type",
                fix="Compare values of one type",
            )
        elif kind in ORDERINGS and known & {"a boolean"}:
            yield Problem(
                path=path,
                rule="condition-types",
                wrong=f"{kind} compares booleans; allowed: numbers or strings",
                fix="Use Equals",
            )

    def _membership(self, raw: Mapping[str, object], path: str) -> Iterator[Problem]:
        if "QueryValue" in raw:
            where = f"{path}.QueryValue"
            yield from self._references.scalar(raw["QueryValue"], where, in_condition=True)
        if "Values" in raw and not (isinstance(raw["Values"], list) and raw["Values"]):
            yield wrong_type(raw["Values"], "a list of one or more values", f"{path}.Values")
        for index, value in enumerate(as_list(raw.get("Values"))):
            where = f"{path}.Values[{index}]"
            yield from self._references.scalar(value, where, in_condition=True)

    def _class_of(self, value: object, path: str) -> str | None:
        """Number, string or boolean; None where only the execution knows."""
        if is_expression(value):
            kind = self._references.read(value, path, in_condition=True).kind
            if kind and plain(kind) in NUMBERS:
                return "a number"
            return {"string": "a string", "boolean": "a boolean"}.get(kind or "")
        if isinstance(value, bool):
            return "a boolean"
        if isinstance(value, int | float):
            return "a number"
        return "a string" if isinstance(value, str) else None
