"""Lambda, Callback and Fail steps, and retry policies."""

import pytest

from infra.pipeline.validation import problems
from tests.definition.documents import baseline
from tests.definition.edits import Json, as_text, get
from tests.definition.judged import after, found_in

MESSAGE = "Steps.QualityGate.Arguments.ElseSteps.Reject.Arguments.ErrorMessage"
POLICY = {"ExceptionType": ["Step.THROTTLING"], "MaxAttempts": 3}


@pytest.mark.parametrize(
    ("path", "value", "where", "rule"),
    [
        ("FunctionArn", "preflight", "", "pattern"),
        ("FunctionArn", {"Fn::GetAtt": ["F", "Arn"]}, "", "wrong-type"),
        ("Arguments.extra", {"a": 1}, "", "nested-input"),
        ("Arguments.extra", [1], "", "nested-input"),
        ("Arguments.extra", None, "", "wrong-type"),
        ("Arguments.extra", get("Parameters.Nope"), "", "undeclared-parameter"),
        ("OutputParameters", {}, "", "wrong-type"),
    ],
)
def test_lambda_steps_are_judged(path: str, value: Json, where: str, rule: str) -> None:
    assert (f"Steps.Preflight.{path}{where}", rule) in after(f"Steps.Preflight.{path}", value)


@pytest.mark.parametrize(
    ("output", "path", "rule"),
    [
        ({"OutputName": "x", "OutputType": "Text"}, ".OutputType", "output-type"),
        ({"OutputName": "x"}, ".OutputType", "missing-key"),
        ({"OutputName": 1, "OutputType": "String"}, ".OutputName", "wrong-type"),
        ({"OutputName": "object_count", "OutputType": "Float"}, ".OutputName", "duplicate-name"),
        ({"OutputName": "x", "OutputType": "String", "Value": 1}, ".Value", "unknown-key"),
    ],
)
def test_lambda_outputs_are_judged(output: Json, path: str, rule: str) -> None:
    definition = baseline()
    definition["Steps"][0]["OutputParameters"].append(output)
    found = found_in(definition)
    assert found == [(f"Steps.Preflight.OutputParameters[2]{path}", rule)]


def test_a_lambda_has_at_most_50_outputs() -> None:
    definition = baseline()
    outputs = definition["Steps"][0]["OutputParameters"]
    outputs += [{"OutputName": f"x{n}", "OutputType": "String"} for n in range(48)]
    assert problems(definition) == []
    outputs.append({"OutputName": "x", "OutputType": "String"})
    assert [problem.rule for problem in problems(definition)] == ["too-many-outputs"]


def test_callback_steps_are_judged_like_lambda_steps() -> None:
    definition = baseline()
    callback: Json = {
        "Name": "Ask",
        "Type": "Callback",
        "SqsQueueUrl": "https://sqs.eu-west-1.amazonaws.com/123456789012/q",
        "Arguments": {"model": get("Steps.Train.TrainingJobName")},
        "OutputParameters": [{"OutputName": "answer", "OutputType": "String"}],
    }
    definition["Steps"].append(callback)
    assert problems(definition) == []
    callback["SqsQueueUrl"] = "q"
    assert [problem.path for problem in problems(definition)] == ["Steps.Ask.SqsQueueUrl"]


@pytest.mark.parametrize(
    ("message", "where", "rule"),
    [
        ("x" * 3073, "", "length"),
        (7, "", "wrong-type"),
        (get("Parameters.QualityThreshold"), "", "expression-type"),
        (get("Steps.Evaluate.ExitMesage"), "", "unknown-property"),
        (
            {"Std:JsonGet": {"PropertyFile": get("Steps.Evaluate.PropertyFiles.Evaluation")}},
            ".Std:JsonGet",
            "json-get-outside-condition",
        ),
    ],
)
def test_fail_messages_are_judged(message: Json, where: str, rule: str) -> None:
    assert after(MESSAGE, message) == [(f"{MESSAGE}{where}", rule)]


@pytest.mark.parametrize(
    "message", ["x" * 3072, get("Steps.Evaluate.ExitMessage"), as_text("a", 1)]
)
def test_fail_messages_pass(message: Json) -> None:
    assert after(MESSAGE, message) == []


def test_a_fail_step_has_a_message_and_nothing_else() -> None:
    path = "Steps.QualityGate.Arguments.ElseSteps.Reject.Arguments"
    assert after(path, {}) == [(MESSAGE, "missing-key")]
    assert after(path, {"ErrorMessage": "", "Code": 1}) == [(f"{path}.Code", "unknown-key")]


@pytest.mark.parametrize("step", ["Preflight", "QualityGate"])
def test_steps_without_retries_refuse_policies(step: str) -> None:
    path = f"Steps.{step}.RetryPolicies"
    assert after(path, [POLICY]) == [(path, "retry-policy-not-supported")]


def test_fail_steps_refuse_policies() -> None:
    path = "Steps.QualityGate.Arguments.ElseSteps.Reject.RetryPolicies"
    assert after(path, [POLICY]) == [(path, "retry-policy-not-supported")]


@pytest.mark.parametrize(
    ("policy", "where", "rule"),
    [
        ({"ExceptionType": ["Step.THROTTLING"]}, "", "retry-limit"),
        (POLICY | {"MaxAttempts": 21}, ".MaxAttempts", "retry-range"),
        (POLICY | {"MaxAttempts": 0}, ".MaxAttempts", "retry-range"),
        (POLICY | {"MaxAttempts": "3"}, ".MaxAttempts", "wrong-type"),
        (POLICY | {"IntervalSeconds": 43_201}, ".IntervalSeconds", "retry-range"),
        (
            {"ExceptionType": ["Step.THROTTLING"], "ExpireAfterMin": 14_401},
            ".ExpireAfterMin",
            "retry-range",
        ),
        (POLICY | {"BackoffRate": -1}, ".BackoffRate", "wrong-type"),
        (POLICY | {"ExceptionType": []}, ".ExceptionType", "wrong-type"),
        (POLICY | {"ExceptionType": "Step.THROTTLING"}, ".ExceptionType", "wrong-type"),
        ({"MaxAttempts": 3}, ".ExceptionType", "missing-key"),
        (POLICY | {"Backoff": 2}, ".Backoff", "unknown-key"),
    ],
)
def test_retry_policies_are_judged(policy: Json, where: str, rule: str) -> None:
    path = "Steps.Evaluate.RetryPolicies"
    assert after(path, [policy]) == [(f"{path}[0]{where}", rule)]


def test_retry_policies_pass_at_their_limits() -> None:
    policies = [
        POLICY | {"MaxAttempts": 20, "IntervalSeconds": 43_200, "BackoffRate": 1},
        {"ExceptionType": ["SageMaker.CAPACITY_ERROR"], "ExpireAfterMin": 14_400},
    ]
    assert after("Steps.Evaluate.RetryPolicies", policies) == []
