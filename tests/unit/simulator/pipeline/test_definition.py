import json
from typing import Any

import pytest

from evenshard.simulator.errors import DefinitionError
from evenshard.simulator.pipeline.definition import Definition, read_definition
from evenshard.simulator.pipeline.graph import run_order
from tests.unit.simulator.assemblies import (
    Json,
    channel,
    condition_step,
    definition_of,
    fail_step,
    function_step,
    processing_step,
    training_step,
)

PARAMETERS = [{"Name": "Uri", "Type": "String", "DefaultValue": "s3://data/train/"}]


def read(*steps: Json) -> Definition:
    return read_definition(json.dumps(definition_of(*steps, parameters=PARAMETERS)))


def order(*steps: Json) -> list[str]:
    return [step.name for step in run_order(read(*steps))]


def get(text: str) -> Json:
    return {"Get": text}


def test_steps_inside_a_condition_are_listed_flat_with_their_branch() -> None:
    definition = read(
        condition_step("Gate", [], [fail_step("A", "a")], [fail_step("B", "b")]),
        fail_step("C", "c"),
    )
    branches = {step.name: step.branch and step.branch.outcome for step in definition.steps}
    assert branches == {"Gate": None, "A": True, "B": False, "C": None}
    gate = definition.step("Gate")
    assert gate is not None
    assert dict(gate.arguments) == {"Conditions": []}


def test_order_follows_references_and_depends_on() -> None:
    train = training_step(Environment={"DIGEST": get("Steps.Look.OutputParameters['digest']")})
    model = get("Steps.Train.ModelArtifacts.S3ModelArtifacts")
    steps = [
        fail_step("Last", model, DependsOn=["Middle"]),
        fail_step("Middle", "m", DependsOn=["Train"]),
        train,
        function_step("Look", {"uri": get("Parameters.Uri")}, {"digest": "String"}),
    ]
    assert order(*steps) == ["Look", "Train", "Middle", "Last"]


def test_order_is_that_of_the_text_where_nothing_else_is_said() -> None:
    assert order(*(fail_step(name, "m") for name in "CAB")) == ["C", "A", "B"]


def test_a_branch_comes_after_its_condition_and_what_the_condition_reads() -> None:
    accuracy = {
        "Std:JsonGet": {"PropertyFile": get("Steps.Evaluate.PropertyFiles.Report"), "Path": "a"}
    }
    condition = {"Type": "GreaterThan", "LeftValue": accuracy, "RightValue": 0.5}
    gate = condition_step("Gate", [condition], [fail_step("A", "a")], [fail_step("B", "b")])
    assert order(gate, processing_step()) == ["Evaluate", "Gate", "A", "B"]


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([{"Type": "Fail"}], "Steps[0]: a step needs a Name"),
        ([{"Name": "Tune", "Type": "Tuning"}], "Steps.Tune.Type: steps of type Tuning are not"),
        ([fail_step("A", "a"), fail_step("A", "b")], "Steps.A: two steps have this name"),
        (
            [condition_step("Gate", [], [fail_step("A", "a")], [fail_step("A", "a")])],
            "Steps.A: two steps have this name",
        ),
        (
            [condition_step("Gate", [], [condition_step("Inner", [], [], [])], [])],
            "Steps.Inner: a Condition step inside a Condition step",
        ),
        (
            [training_step(DebugHookConfig={"S3OutputPath": "s3://b/c"})],
            "Steps.Train.Arguments.DebugHookConfig: the simulator does not support this field",
        ),
        (
            [fail_step("A", "a", RetryPolicies=[])],
            "Steps.A.RetryPolicies: the simulator does not support this field",
        ),
        (
            [training_step(InputDataConfig=[channel("a", "s3://b/", "FullyReplicated")] * 2)],
            "Steps.Train.Arguments.InputDataConfig[1].ChannelName: 'a' is there twice",
        ),
        (
            [training_step(InputDataConfig=[channel("a", "s3://b/", "Sharded")])],
            "Steps.Train.Arguments.InputDataConfig[0].DataSource.S3DataSource.S3DataDistribution",
        ),
        (
            [training_step(HyperParameters={"epochs": 3})],
            "Steps.Train.Arguments.HyperParameters.epochs: 3 is not a string",
        ),
    ],
)
def test_refuses_a_definition_before_anything_runs(steps: list[Json], message: str) -> None:
    with pytest.raises(DefinitionError) as error:
        read(*steps)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([fail_step("A", "a", DependsOn=["B"])], "Steps.A.DependsOn[0]: there is no step 'B'"),
        ([fail_step("A", get("Steps.B.X"))], "there is no step 'B'. The steps are A."),
        ([fail_step("A", get("Parameters.Url"))], "there is no Parameters.Url. There are Uri."),
        ([fail_step("A", get("Execution.Id"))], "there is no Execution.Id. There are"),
        (
            [fail_step("A", "a", DependsOn=["B"]), fail_step("B", get("Steps.A.ErrorMessage"))],
            "Steps: A, B wait for each other",
        ),
        ([fail_step("A", get("Steps.A.ErrorMessage"))], "Steps: A wait for each other"),
        (
            [condition_step("Gate", [], [], []), fail_step("A", "a", DependsOn=["Gate"])],
            "Steps.A.DependsOn[0]: Gate is a Condition step",
        ),
        (
            [
                condition_step("Gate", [], [fail_step("A", "a")], []),
                fail_step("B", "b", DependsOn=["A"]),
            ],
            "Steps.B.DependsOn[0]: A runs only in one branch of Gate",
        ),
        (
            [
                function_step("Look", {}, {"digest": "String"}),
                fail_step("A", get("Steps.Look.OutputParameters['verdict']")),
            ],
            "Look has no output parameter 'verdict'. It has digest.",
        ),
        (
            [processing_step(), fail_step("A", get("Steps.Evaluate.PropertyFiles.Other"))],
            "Evaluate declares no property file 'Other'",
        ),
    ],
)
def test_refuses_references_that_lead_nowhere(steps: list[Json], message: str) -> None:
    with pytest.raises(DefinitionError) as error:
        order(*steps)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"Version": "2021-01-01"}, "definition.Version: '2021-01-01' is not simulated"),
        ({"Extra": 1}, "definition.Extra"),
        ({"Parameters": PARAMETERS * 2}, "definition.Parameters[1].Name: 'Uri' is there twice"),
        ({"Steps": None}, "definition.Steps: None is not a list"),
    ],
)
def test_refuses_a_wrong_frame(change: dict[str, Any], message: str) -> None:
    body = json.dumps({**definition_of(), **change})
    with pytest.raises(DefinitionError) as error:
        read_definition(body)
    assert str(error.value).startswith(message)


def test_refuses_what_is_not_json() -> None:
    with pytest.raises(DefinitionError, match="definition: not JSON"):
        read_definition("{")
