"""Types of Get, Std:Join and Std:JsonGet."""

import pytest

from infra.pipeline.validation import problems
from tests.definition.documents import baseline
from tests.definition.edits import Json, as_text, at, get, put
from tests.definition.judged import after, found_in

DIGEST = "Steps.Train.Arguments.Environment.EVENSHARD_DATA_DIGEST"
"""A field that wants a string."""
RUNTIME = "Steps.Evaluate.Arguments.StoppingCondition.MaxRuntimeInSeconds"
"""A field that wants an integer, after Train."""
MODEL_URI = "Steps.Evaluate.Arguments.ProcessingInputs[0].S3Input.S3Uri"
"""A field that wants a string, after Train."""
JSON_GET = {"Std:JsonGet": {"S3Uri": "s3://bucket/report.json", "Path": "a.b"}}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (DIGEST, get("Execution.PipelineExecutionArn")),
        (DIGEST, get("Execution.StartDateTime")),
        (DIGEST, as_text(get("Steps.Preflight.OutputParameters['object_count']"), 1, 0.5, True)),
        (DIGEST, as_text(as_text("nested"))),
        (RUNTIME, get("Parameters.Epochs")),
        (RUNTIME, get("Steps.Train.StoppingCondition.MaxRuntimeInSeconds")),
        (RUNTIME, get("Steps.Train.TrainingTimeInSeconds")),
        (MODEL_URI, get("Steps.Train.InputDataConfig['train'].DataSource.S3DataSource.S3Uri")),
        (MODEL_URI, get("Steps.Train.InputDataConfig[1].DataSource.S3DataSource.S3Uri")),
        (MODEL_URI, get("Steps.Train.HyperParameters['epochs']")),
        (MODEL_URI, as_text(get("Steps.Train.FinalMetricDataList['train:loss'].Value"))),
        (MODEL_URI, as_text(get("Steps.Train.CreationTime"))),
    ],
)
def test_well_typed_expressions_pass(path: str, value: Json) -> None:
    assert after(path, value) == []


@pytest.mark.parametrize(
    ("path", "value", "rule"),
    [
        (DIGEST, get("Steps.Preflight.OutputParameters['object_count']"), "expression-type"),
        (DIGEST, get("Steps.Preflight.OutputParameters.data_digest"), "unknown-property"),
        (DIGEST, get("Steps.Preflight"), "unknown-property"),
        (DIGEST, get("Execution.PipelineId"), "unknown-execution-variable"),
        (DIGEST, get("Parameter.Epochs"), "malformed-get"),
        (DIGEST, get("Parameters."), "malformed-get"),
        (DIGEST, get("Train.ModelArtifacts"), "malformed-get"),
        (RUNTIME, get("Parameters.LearningRate"), "expression-type"),
        (RUNTIME, as_text("3600"), "expression-type"),
        (RUNTIME, get("Execution.PipelineName"), "expression-type"),
        (MODEL_URI, get("Steps.Train.ModelArtifacts"), "expression-type"),
        (MODEL_URI, get("Steps.Train.ModelArtifacts.S3Uri"), "unknown-property"),
        (MODEL_URI, get("Steps.Train.ModelArtifacts.S3ModelArtifacts.Uri"), "unknown-property"),
        (MODEL_URI, get("Steps.Train.RoleArn[0]"), "unknown-property"),
        (MODEL_URI, get("Steps.Train.ModelArtifacts..S3ModelArtifacts"), "unknown-property"),
        (MODEL_URI, get("Steps.Train.InputDataConfig['trian'].ContentType"), "unknown-output"),
        (MODEL_URI, get("Steps.Train.InputDataConfig[2].ContentType"), "unknown-output"),
        (MODEL_URI, get("Steps.Train.HyperParameters['epoch']"), "unknown-output"),
        (MODEL_URI, get("Steps.Train.SecondaryStatusTransitions['a'].Status"), "unknown-property"),
        (
            RUNTIME,
            get("Steps.Train.FinalMetricDataList['test:loss'].Value"),
            "unknown-output",
        ),
        (
            MODEL_URI,
            get("Steps.Evaluate.PropertyFiles.Evaluation"),
            "property-file-without-json-get",
        ),
        (MODEL_URI, get("Steps.QualityGate.Outcome"), "depends-on-condition"),
        (MODEL_URI, get("Steps.Reject.ErrorMessage"), "unknown-property"),
    ],
)
def test_ill_typed_expressions_are_refused(path: str, value: Json, rule: str) -> None:
    # A step that reads itself or a branch is refused for that as well.
    assert (path, rule) in after(path, value)


@pytest.mark.parametrize(
    ("body", "path", "rule"),
    [
        ({"On": "/", "Values": [], "Value": []}, "Value", "unknown-key"),
        ({"On": "/"}, "Values", "missing-key"),
        ({"On": 1, "Values": []}, "On", "wrong-type"),
        ({"Values": "ab"}, "Values", "wrong-type"),
        ({"Values": [["a"]]}, "Values[0]", "wrong-type"),
        ({"Values": [get("Parameters.Nothing")]}, "Values[0]", "undeclared-parameter"),
        ({"Values": [get("Steps.Preflight.OutputParameters['x']")]}, "Values[0]", "unknown-output"),
        ({"Values": [JSON_GET]}, "Values[0].Std:JsonGet", "json-get-outside-condition"),
    ],
)
def test_joins_are_judged(body: Json, path: str, rule: str) -> None:
    assert after(DIGEST, {"Std:Join": body}) == [(f"{DIGEST}.Std:Join.{path}", rule)]


def test_join_of_a_structure_is_refused() -> None:
    found = after(MODEL_URI, as_text(get("Steps.Train.ModelArtifacts")))
    assert found == [(f"{MODEL_URI}.Std:Join.Values[0]", "expression-type")]


@pytest.mark.parametrize(
    ("body", "path", "rule"),
    [
        ({"Path": "a"}, "", "json-get-source"),
        ({"Path": "", "S3Uri": "s3://b/k"}, ".Path", "wrong-type"),
        ({"S3Uri": "s3://b/k"}, ".Path", "missing-key"),
        ({"Path": "a", "PropertyFile": "Evaluation"}, ".PropertyFile", "malformed-property-file"),
        (
            {"Path": "a", "PropertyFile": get("Steps.Train.PropertyFiles.Evaluation")},
            ".PropertyFile",
            "unknown-property-file",
        ),
        (
            {"Path": "a", "PropertyFile": get("Steps.Evaluat.PropertyFiles.Evaluation")},
            ".PropertyFile",
            "unknown-step",
        ),
    ],
)
def test_json_gets_are_judged(body: Json, path: str, rule: str) -> None:
    definition = baseline()
    put(definition, "Steps.QualityGate.DependsOn", ["Evaluate"])
    condition = at(definition, "Steps.QualityGate.Arguments.Conditions[0]")
    condition["LeftValue"] = {"Std:JsonGet": body}
    found = found_in(definition)
    where = "Steps.QualityGate.Arguments.Conditions[0].LeftValue.Std:JsonGet"
    assert found == [(where + path, rule)]


def test_a_bare_long_is_wrapped_like_any_number() -> None:
    definition = baseline()
    put(definition, MODEL_URI, get("Steps.Train.BillableTokenCount"))
    (problem,) = problems(definition)
    assert "of type integer; allowed: string" in problem.wrong
    assert "Wrap it in Std:Join" in problem.fix


def test_fix_of_a_bare_number_is_the_join_to_write() -> None:
    definition = baseline()
    put(definition, DIGEST, get("Parameters.Epochs"))
    (problem,) = problems(definition)
    assert "{'Std:Join': {'On': '', 'Values': [{'Get': 'Parameters.Epochs'}]}}" in problem.fix


def test_tokens_stand_for_any_text() -> None:
    definition = baseline()
    put(definition, "Steps.Train.Arguments.RoleArn", "${Token[TOKEN.12]}")
    put(definition, "Steps.Preflight.FunctionArn", "${Token[TOKEN.13]}")
    put(definition, MODEL_URI, "${Token[TOKEN.14]}/x")
    put(definition, "Parameters.TrainDataUri.DefaultValue", "${Token[TOKEN.15]}/data/train/")
    subnets = {"Subnets": ["#{Token[TOKEN.16]}"], "SecurityGroupIds": ["${Token[TOKEN.17]}"]}
    put(definition, "Steps.Train.Arguments.VpcConfig", subnets)
    assert problems(definition) == []


def test_tokens_are_still_strings() -> None:
    assert after(RUNTIME, "${Token[TOKEN.12]}") == [(RUNTIME, "wrong-type")]
