import pytest

from evenshard.simulator.errors import DefinitionError, StepFailedError
from evenshard.simulator.events import ConditionEvaluated
from evenshard.simulator.steps.condition import branch_taken, run_condition
from tests.unit.simulator.assemblies import Json, condition_step
from tests.unit.simulator.stage import Stage


def compare(kind: str, left: object, right: object) -> Json:
    return {"Type": kind, "LeftValue": left, "RightValue": right}


TRUE, FALSE = compare("Equals", 1, 1), compare("Equals", 1, 2)


@pytest.mark.parametrize(
    ("conditions", "outcome"),
    [
        ([compare("GreaterThanOrEqualTo", 0.95, 0.95)], True),
        ([compare("GreaterThan", 0.95, 0.95)], False),
        ([compare("LessThan", 1, 1.5)], True),
        ([compare("LessThanOrEqualTo", 2, 1.5)], False),
        ([compare("Equals", "a", "a")], True),
        ([compare("Equals", True, False)], False),
        ([{"Type": "In", "QueryValue": "a", "Values": ["b", "a"]}], True),
        ([{"Type": "Not", "Condition": TRUE}], False),
        ([{"Type": "Or", "Conditions": [FALSE, TRUE]}], True),
        ([{"Type": "Or", "Conditions": [FALSE, FALSE]}], False),
        ([TRUE, FALSE], False),
        ([TRUE, TRUE], True),
        ([], True),
    ],
)
def test_conditions_are_anded(stage: Stage, conditions: list[Json], outcome: bool) -> None:  # noqa: FBT001 - a table
    result = run_condition(stage.run_of(condition_step("Gate", conditions, [], [])))
    assert branch_taken(result.properties) is outcome
    assert result.properties["Outcome"] == str(outcome)


def test_reports_the_numbers_with_their_names(stage: Stage) -> None:
    written = compare(
        "GreaterThanOrEqualTo",
        {"Std:JsonGet": {"PropertyFile": {}, "Path": "accuracy.value"}},
        {"Get": "Parameters.QualityThreshold"},
    )
    run = stage.run_of(condition_step("Gate", [written], [], []))
    evaluated = {"Conditions": [compare("GreaterThanOrEqualTo", 0.9, 0.95)]}
    object.__setattr__(run, "arguments", evaluated)
    run_condition(run)
    (event,) = [event for event in stage.events if isinstance(event, ConditionEvaluated)]
    assert event.comparison == "accuracy.value 0.9 >= QualityThreshold 0.95"
    assert event.outcome is False


@pytest.mark.parametrize(
    ("left", "right", "shown"),
    [
        (0.9853658536585366, 0.95, "0.9854 >= 0.95"),
        (0.9499999, 0.95, "0.9499999 >= 0.95"),  # not `0.95 >= 0.95: false`
        (0.95, 0.95, "0.95 >= 0.95"),
        (1.0, 3, "1.0 >= 3"),
        (0.0000123456, 12345.67891, "1.235e-05 >= 12345.6789"),
        ("a" * 6, "b", "aaaaaa >= b"),
    ],
)
def test_numbers_are_shown_short_unless_that_would_mislead(
    stage: Stage, left: object, right: object, shown: str
) -> None:
    written = compare("GreaterThanOrEqualTo", left, right)
    nested = {"Type": "Not", "Condition": written}
    run_condition(stage.run_of(condition_step("Gate", [written, nested], [], [])))
    texts = [event.comparison for event in stage.events if isinstance(event, ConditionEvaluated)]
    assert texts == [shown, f"not ({shown})"]


@pytest.mark.parametrize(("left", "right"), [("0.9", 0.95), (True, 1), (0.9, "0.95")])
def test_values_of_two_types_cannot_be_compared(stage: Stage, left: object, right: object) -> None:
    step = condition_step("Gate", [compare("LessThan", left, right)], [], [])
    with pytest.raises(StepFailedError, match="cannot be compared"):
        run_condition(stage.run_of(step))


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ({"Type": "Above"}, "condition 'Above' is unknown"),
        ({"LeftValue": 1}, "condition 'None' is unknown"),
        ({**TRUE, "Extra": 1}, "has the fields LeftValue, RightValue, Type, not Extra"),
        ({"Type": "Not", "Condition": 3}, "condition 'without a Type' is unknown"),
    ],
)
def test_refuses_unknown_conditions(stage: Stage, condition: Json, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        run_condition(stage.run_of(condition_step("Gate", [condition], [], [])))
