import json

import pytest

from evenshard.simulator.errors import DefinitionError, StepFailedError
from evenshard.simulator.pipeline.expressions import Scope, evaluate, parse_reference, references

REPORT = {"metrics": {"accuracy": {"value": 0.75}, "per class": [0.5, 1.0]}}


@pytest.fixture
def scope() -> Scope:
    return Scope(
        parameters={"Epochs": 3, "LearningRate": 0.001, "Ok": True, "Name": "n"},
        execution={"PipelineExecutionId": "abc"},
        steps={
            "Train": {
                "ModelArtifacts": {"S3ModelArtifacts": "s3://b/model.tar.gz"},
                "Hosts": ["algo-1", "algo-2"],
                "ProcessingOutputConfig": {
                    "Outputs": [
                        {"OutputName": "a", "S3Output": {"S3Uri": "s3://b/a"}},
                        {"OutputName": "e-1", "S3Output": {"S3Uri": "s3://b/e"}},
                    ]
                },
                "OutputParameters": {"data_digest": "d1"},
            }
        },
        read_property_file=lambda step, file: json.dumps(
            {**REPORT, "where": f"{step}/{file}"}
        ).encode(),
        read_object=lambda uri: json.dumps({"uri": uri}).encode(),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Parameters.Epochs", 3),
        ("Execution.PipelineExecutionId", "abc"),
        ("Steps.Train.ModelArtifacts.S3ModelArtifacts", "s3://b/model.tar.gz"),
        ("Steps.Train.Hosts[1]", "algo-2"),
        ("Steps.Train.OutputParameters['data_digest']", "d1"),
        ("Steps.Train.ProcessingOutputConfig.Outputs['e-1'].S3Output.S3Uri", "s3://b/e"),
        ('Steps.Train.ProcessingOutputConfig.Outputs["a"].S3Output.S3Uri', "s3://b/a"),
    ],
)
def test_get_finds_values(scope: Scope, text: str, expected: object) -> None:
    assert evaluate({"Get": text}, scope, "X") == expected


def test_join_writes_numbers_and_booleans_as_json(scope: Scope) -> None:
    names = ["Epochs", "LearningRate", "Ok", "Name"]
    values = [{"Get": f"Parameters.{name}"} for name in names]
    joined = {"Std:Join": {"On": "/", "Values": ["s3:/", *values]}}
    assert evaluate(joined, scope, "X") == "s3://3/0.001/true/n"


def test_a_join_of_one_number_is_its_text(scope: Scope) -> None:
    expression = {"Std:Join": {"On": "", "Values": [{"Get": "Parameters.Epochs"}]}}
    assert evaluate(expression, scope, "X") == "3"


def test_expressions_are_found_at_any_depth(scope: Scope) -> None:
    value = {"a": [{"b": {"Get": "Parameters.Epochs"}}], "c": 1, "d": None}
    assert evaluate(value, scope, "X") == {"a": [{"b": 3}], "c": 1, "d": None}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("metrics.accuracy.value", 0.75),
        ("metrics['per class'][1]", 1.0),
        ("where", "Evaluate/Report"),
    ],
)
def test_json_get_reads_a_property_file(scope: Scope, path: str, expected: object) -> None:
    file = {"Get": "Steps.Evaluate.PropertyFiles.Report"}
    assert evaluate({"Std:JsonGet": {"PropertyFile": file, "Path": path}}, scope, "X") == expected


def test_json_get_reads_an_object(scope: Scope) -> None:
    uri = {"Std:Join": {"On": "/", "Values": ["s3://b", {"Get": "Parameters.Name"}]}}
    assert evaluate({"Std:JsonGet": {"S3Uri": uri, "Path": "uri"}}, scope, "X") == "s3://b/n"


@pytest.mark.parametrize(
    "path", ["metrics.missing.value", "metrics.accuracy", "metrics.accuracy.value.x"]
)
def test_json_get_without_such_a_value_fails_the_step(scope: Scope, path: str) -> None:
    file = {"Get": "Steps.Evaluate.PropertyFiles.Report"}
    with pytest.raises(StepFailedError, match="property file Report of Evaluate"):
        evaluate({"Std:JsonGet": {"PropertyFile": file, "Path": path}}, scope, "X")


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ({"Get": "Parameters.Epoch"}, "no such name in Parameters. There are Epochs,"),
        ({"Get": "Steps.Test.X"}, "step Test has not run before this one"),
        (
            {"Get": "Steps.Train.ModelArtifact"},
            "has no 'ModelArtifact' there. There is ModelArtifacts",
        ),
        ({"Get": "Steps.Train"}, "cannot be read"),
        ({"Get": "Nothing.X"}, "cannot be read"),
        ({"Get": "Parameters.Epochs.More"}, "cannot be read"),
        ({"Get": "Parameters.Epochs!"}, "cannot be read"),
        ({"Get": 3}, "cannot be read"),
        ({"Std:Join": {"Values": []}}, "write"),
        ({"Std:Join": {"On": "", "Values": [{"Get": "Steps.Train.Hosts"}]}}, "cannot be joined"),
        ({"Std:Join": "x"}, "needs an object"),
        ({"Std:JsonGet": {"Path": "x"}}, "write"),
        (
            {"Std:JsonGet": {"PropertyFile": {"Get": "Steps.Train.Hosts"}, "Path": "x"}},
            "names no property file",
        ),
    ],
)
def test_refuses_what_makes_no_sense(scope: Scope, expression: object, message: str) -> None:
    with pytest.raises(DefinitionError) as error:
        evaluate({"Field": expression}, scope, "X")
    assert str(error.value).startswith("X.Field")
    assert message in str(error.value)


def test_references_gives_every_get_with_its_place() -> None:
    value = {
        "a": {"Std:Join": {"On": "", "Values": ["x", {"Get": "Steps.A.B"}]}},
        "c": [{"Std:JsonGet": {"PropertyFile": {"Get": "Steps.D.PropertyFiles.E"}, "Path": "p"}}],
    }
    found = [(reference.name, path) for reference, path in references(value, "X")]
    assert found == [
        ("A", "X.a.Std:Join.Values[1]"),
        ("D", "X.c[0].Std:JsonGet.PropertyFile"),
    ]


def test_a_reference_keeps_names_with_dots_in_quotes_whole() -> None:
    assert parse_reference("Steps.A.Outputs['b.c'].D", "X").rest == ("Outputs", "b.c", "D")
