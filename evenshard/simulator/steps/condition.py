"""Condition steps: compare values and choose a branch. Source: docs/facts.md 8."""

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from evenshard.simulator.errors import DefinitionError, StepFailedError
from evenshard.simulator.events import ConditionEvaluated
from evenshard.simulator.steps.outcome import Outcome, StepRun

_COMPARISONS: Final[Mapping[str, tuple[str, Callable[[Any, Any], bool]]]] = {
    "Equals": ("==", operator.eq),
    "GreaterThan": (">", operator.gt),
    "GreaterThanOrEqualTo": (">=", operator.ge),
    "LessThan": ("<", operator.lt),
    "LessThanOrEqualTo": ("<=", operator.le),
}
_DECIMALS: Final = 4
_FIELDS: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(_COMPARISONS, frozenset({"Type", "LeftValue", "RightValue"})),
    "In": frozenset({"Type", "QueryValue", "Values"}),
    "Not": frozenset({"Type", "Condition"}),
    "Or": frozenset({"Type", "Conditions"}),
}


def run_condition(run: StepRun) -> Outcome:
    """Evaluate all conditions; the step's outcome is True if all hold.

    Raises:
        DefinitionError: a condition that cannot be read.
        StepFailedError: two values that cannot be compared.
    """
    outcome = True
    written = run.step.arguments["Conditions"]
    for index, condition in enumerate(run.arguments["Conditions"]):
        text, holds = _evaluate(condition, f"{run.path}.Conditions[{index}]")
        text = _labelled(condition, written[index]) or text
        run.workspace.report(ConditionEvaluated(step=run.step.name, comparison=text, outcome=holds))
        outcome = outcome and holds
    return Outcome(properties={"Outcome": str(outcome)})


def branch_taken(properties: Mapping[str, Any]) -> bool:
    """Whether a Condition step chose its IfSteps, by the properties it has left."""
    return bool(properties["Outcome"] == "True")


def _evaluate(condition: Any, path: str) -> tuple[str, bool]:  # noqa: ANN401 - JSON
    kind = str(condition.get("Type")) if isinstance(condition, dict) else "without a Type"
    if kind not in _FIELDS:
        raise DefinitionError(path, f"condition {kind!r} is unknown. Use {', '.join(_FIELDS)}.")
    if set(condition) != _FIELDS[kind]:
        given, allowed = ", ".join(sorted(condition)), ", ".join(sorted(_FIELDS[kind]))
        raise DefinitionError(path, f"a condition {kind} has the fields {allowed}, not {given}.")
    if kind == "Not":
        text, holds = _evaluate(condition["Condition"], f"{path}.Condition")
        return f"not ({text})", not holds
    if kind == "Or":
        parts = [
            _evaluate(part, f"{path}.Conditions[{i}]")
            for i, part in enumerate(condition["Conditions"])
        ]
        return " or ".join(text for text, _ in parts), any(holds for _, holds in parts)
    if kind == "In":
        query, values = condition["QueryValue"], condition["Values"]
        return f"{query} in {values}", query in values
    symbol, compare = _COMPARISONS[kind]
    left, right = condition["LeftValue"], condition["RightValue"]
    _check_comparable(left, right, path)
    left_text, right_text = _shown(left, right)
    return f"{left_text} {symbol} {right_text}", compare(left, right)


def _labelled(condition: Mapping[str, Any], written: Mapping[str, Any]) -> str | None:
    """A comparison with the names of what it compares, where the definition names them."""
    if condition["Type"] not in _COMPARISONS:
        return None
    symbol, _ = _COMPARISONS[condition["Type"]]
    left, right = _shown(condition["LeftValue"], condition["RightValue"])
    left = f"{_label(written['LeftValue'])} {left}".strip()
    right = f"{_label(written['RightValue'])} {right}".strip()
    return f"{left} {symbol} {right}"


def _shown(left: object, right: object) -> tuple[str, str]:
    """Two values for a line of text: short, unless that would make different ones look alike."""
    short = _shortened(left), _shortened(right)
    if (short[0] == short[1]) != (left == right):
        return str(left), str(right)
    return str(short[0]), str(short[1])


def _shortened(value: object) -> object:
    """A number with 4 decimals, or 4 significant ones where it starts with zeros."""
    if not isinstance(value, float):
        return value
    return round(value, _DECIMALS) if abs(value) >= 1 else float(f"{value:.{_DECIMALS}g}")


def _label(written: object) -> str:
    match written:
        case {"Std:JsonGet": {"Path": str(where)}}:
            return where
        case {"Get": str(reference)}:
            return reference.partition(".")[2]
    return ""


def _check_comparable(left: object, right: object, path: str) -> None:
    if _kind(left) != _kind(right):
        raise StepFailedError(
            f"{path}: {left!r} and {right!r} cannot be compared: one is {_kind(left)}, the other "
            f"{_kind(right)}. Compare values of one type."
        )


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "a boolean"
    return "a number" if isinstance(value, int | float) else "a string"
