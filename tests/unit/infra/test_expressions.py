"""sagemaker-core's objects as JSON."""

import json

import pytest
from sagemaker.core.inputs import TrainingInput
from sagemaker.core.workflow.conditions import ConditionIn, ConditionNot, ConditionOr
from sagemaker.core.workflow.execution_variables import ExecutionVariables
from sagemaker.core.workflow.functions import Join, JsonGet
from sagemaker.core.workflow.parameters import ParameterInteger, ParameterString
from sagemaker.core.workflow.properties import PropertyFile

from infra.pipeline.expressions import as_string, render, step_property

EPOCHS = ParameterInteger("Epochs", 3)
NAME = ParameterString("Name", "x")


def test_plain_values_pass_through() -> None:
    value = {"a": [1, 2.5, True, "${Token[TOKEN.12]}"], "b": {}}
    assert render(value) == value


def test_tuples_become_lists() -> None:
    assert render(("a", (EPOCHS,))) == ["a", [{"Get": "Parameters.Epochs"}]]


def test_a_number_is_joined_into_text() -> None:
    assert render(as_string(EPOCHS)) == {
        "Std:Join": {"On": "", "Values": [{"Get": "Parameters.Epochs"}]}
    }


def test_joins_nest() -> None:
    inner = Join(on="-", values=["v", ExecutionVariables.PIPELINE_EXECUTION_ID])
    assert render(Join(on="/", values=["s3://b", inner])) == {
        "Std:Join": {
            "On": "/",
            "Values": [
                "s3://b",
                {
                    "Std:Join": {
                        "On": "-",
                        "Values": ["v", {"Get": "Execution.PipelineExecutionId"}],
                    }
                },
            ],
        }
    }


def test_properties_and_outputs_of_steps() -> None:
    digest = step_property("Preflight", "OutputParameters['data_digest']")
    assert render(digest) == {"Get": "Steps.Preflight.OutputParameters['data_digest']"}


def test_json_get() -> None:
    report = PropertyFile(name="Evaluation", output_name="evaluation", path="evaluation.json")
    value = JsonGet(step_name="Evaluate", property_file=report, json_path="a.b")
    assert render(value) == {
        "Std:JsonGet": {
            "PropertyFile": {"Get": "Steps.Evaluate.PropertyFiles.Evaluation"},
            "Path": "a.b",
        }
    }


def test_conditions_are_rendered_all_the_way_down() -> None:
    condition = ConditionNot(ConditionOr([ConditionIn(NAME, ["x", EPOCHS])]))
    rendered = render([condition])
    assert rendered == [
        {
            "Type": "Not",
            "Condition": {
                "Type": "Or",
                "Conditions": [
                    {
                        "Type": "In",
                        "QueryValue": {"Get": "Parameters.Name"},
                        "Values": ["x", {"Get": "Parameters.Epochs"}],
                    }
                ],
            },
        }
    ]
    json.dumps(rendered)


def test_training_input() -> None:
    channel = TrainingInput(NAME, distribution="ShardedByS3Key").config
    assert render(channel)["DataSource"]["S3DataSource"] == {
        "S3DataType": "S3Prefix",
        "S3Uri": {"Get": "Parameters.Name"},
        "S3DataDistributionType": "ShardedByS3Key",
    }


@pytest.mark.parametrize("value", [None, object(), {1, 2}, b"bytes"])
def test_refuses_what_json_cannot_hold(value: object) -> None:
    with pytest.raises(TypeError, match=r"definition\.a\[1\] is .* Leave absent values out"):
        render({"a": ["x", value]})
