"""Condition steps: operators, operands, branches."""

import pytest

from infra.pipeline.validation import problems
from tests.definition.documents import baseline
from tests.definition.edits import Json, get, put
from tests.definition.judged import found_in

ARGUMENTS = "Steps.QualityGate.Arguments"
ONE = {"Type": "Equals", "LeftValue": 1, "RightValue": 1}


def with_condition(condition: Json) -> list[tuple[str, str]]:
    """Path below the condition, and rule, of every problem once the gate has this condition."""
    definition = baseline()
    put(definition, f"{ARGUMENTS}.Conditions", [condition])
    prefix = f"{ARGUMENTS}.Conditions[0]"
    return [(problem.path.removeprefix(prefix), problem.rule) for problem in problems(definition)]


@pytest.mark.parametrize(
    "condition",
    [
        ONE,
        {"Type": "LessThan", "LeftValue": get("Parameters.Epochs"), "RightValue": 1.5},
        {
            "Type": "In",
            "QueryValue": get("Parameters.AllowEmptyHosts"),
            "Values": ["true", get("Parameters.InstanceType")],
        },
        {"Type": "Not", "Condition": {"Type": "Or", "Conditions": [ONE, ONE]}},
        {"Type": "Equals", "LeftValue": True, "RightValue": False},
        {"Type": "Equals", "LeftValue": get("Execution.PipelineName"), "RightValue": "x"},
    ],
)
def test_every_operator_passes(condition: Json) -> None:
    assert with_condition(condition) == []


@pytest.mark.parametrize(
    ("condition", "path", "rule"),
    [
        (ONE | {"Type": "GreaterThen"}, ".Type", "condition-operator"),
        ({"LeftValue": 1, "RightValue": 1}, ".Type", "condition-operator"),
        (ONE | {"Values": []}, ".Values", "unknown-key"),
        ({"Type": "Equals", "LeftValue": 1}, ".RightValue", "missing-key"),
        (ONE | {"LeftValue": [1]}, ".LeftValue", "wrong-type"),
        (ONE | {"LeftValue": "1"}, "", "condition-types"),
        (ONE | {"LeftValue": True}, "", "condition-types"),
        (ONE | {"LeftValue": get("Parameters.InstanceType")}, "", "condition-types"),
        ({"Type": "LessThan", "LeftValue": True, "RightValue": False}, "", "condition-types"),
        (ONE | {"LeftValue": get("Parameters.Nope")}, ".LeftValue", "undeclared-parameter"),
        (ONE | {"LeftValue": get("Steps.Train.ModelArtifacts")}, ".LeftValue", "expression-type"),
        ({"Type": "In", "QueryValue": 1, "Values": []}, ".Values", "wrong-type"),
        ({"Type": "In", "QueryValue": {}, "Values": [1]}, ".QueryValue", "wrong-type"),
        ({"Type": "In", "QueryValue": 1, "Values": [1, None]}, ".Values[1]", "wrong-type"),
        ({"Type": "Not", "Condition": 1}, ".Condition", "wrong-type"),
        # What an old release of the SageMaker SDK wrote.
        ({"Type": "Not", "Expression": ONE, "Condition": ONE}, ".Expression", "unknown-key"),
        ({"Type": "Not", "Condition": {"Type": "Is"}}, ".Condition.Type", "condition-operator"),
        ({"Type": "Or", "Conditions": []}, ".Conditions", "no-condition"),
        ({"Type": "Or", "Conditions": [ONE, 1]}, ".Conditions[1]", "wrong-type"),
    ],
)
def test_ill_formed_conditions_are_refused(condition: Json, path: str, rule: str) -> None:
    assert with_condition(condition) == [(path, rule)]


def test_depth_is_bounded() -> None:
    condition: Json = ONE
    for _ in range(30):
        condition = {"Type": "Not", "Condition": condition}
    ((_, rule),) = with_condition(condition)
    assert rule == "condition-depth"


@pytest.mark.parametrize(
    ("change", "path", "rule"),
    [
        ({"Conditions": []}, ".Conditions", "no-condition"),
        ({"IfSteps": [], "ElseSteps": []}, "", "empty-branches"),
        ({"ElseStep": []}, ".ElseStep", "unknown-key"),
        ({"ElseSteps": {}}, ".ElseSteps", "wrong-type"),
    ],
)
def test_condition_steps_are_judged(change: Json, path: str, rule: str) -> None:
    definition = baseline()
    definition["Steps"][3]["Arguments"].update(change)
    found = found_in(definition)
    assert found == [(f"{ARGUMENTS}{path}", rule)]


def test_a_condition_needs_conditions() -> None:
    definition = baseline()
    del definition["Steps"][3]["Arguments"]["Conditions"]
    found = found_in(definition)
    assert found == [(f"{ARGUMENTS}.Conditions", "missing-key")]
