"""Arguments against the service model's shapes, and what a job needs beyond them."""

import pytest

from infra.pipeline.validation import problems
from infra.pipeline.validation.arguments import ArgumentJudge
from infra.pipeline.validation.document import Definition
from infra.pipeline.validation.references import References
from infra.pipeline.validation.service_model import service_model
from tests.definition.documents import RETRY, baseline
from tests.definition.edits import Json, at, drop
from tests.definition.judged import after, found_in

TRAIN = "Steps.Train.Arguments"


@pytest.mark.parametrize(
    ("path", "value", "where", "rule"),
    [
        ("EnableNetworkIsolation", "true", "", "wrong-type"),
        ("StoppingCondition.MaxRuntimeInSeconds", True, "", "wrong-type"),
        ("StoppingCondition.MaxRuntimeInSeconds", 3600.0, "", "wrong-type"),
        ("StoppingCondition.MaxRuntimeInSeconds", None, "", "wrong-type"),
        ("StoppingCondition", [], "", "wrong-type"),
        ("InputDataConfig", {}, "", "wrong-type"),
        ("InputDataConfig", [], "", "length"),
        ("Environment", [], "", "wrong-type"),
        ("Environment", {"1X": "a"}, ".1X", "pattern"),
        ("Environment", {"X": "a" * 513}, ".X", "length"),
        ("Environment", {"X": 1}, ".X", "wrong-type"),
        ("RoleArn", "arn:aws:iam::1234:role/x", "", "pattern"),
        ("VpcConfig", {"Subnets": ["subnet-1"]}, ".SecurityGroupIds", "missing-key"),
    ],
)
def test_training_arguments_are_judged(path: str, value: Json, where: str, rule: str) -> None:
    assert after(f"{TRAIN}.{path}", value) == [(f"{TRAIN}.{path}{where}", rule)]


def test_unions_take_exactly_one_key() -> None:
    # No step type that is judged has a union today; the model has some.
    shape = service_model().shape_for("CustomFileSystem")
    judge = ArgumentJudge(References(Definition.read({})))
    one = {"EFSFileSystem": {"FileSystemId": "fs-12345678"}}
    two = one | {"FSxLustreFileSystem": {"FileSystemId": "fs-12345678"}}
    assert list(judge.value(one, shape, "P")) == []
    assert [(p.path, p.rule) for p in judge.value(two, shape, "P")] == [("P", "union")]
    assert [(p.path, p.rule) for p in judge.value({}, shape, "P")] == [("P", "union")]


def test_more_than_100_hyperparameters_are_refused() -> None:
    many = {f"name{n}": "1" for n in range(101)}
    assert after(f"{TRAIN}.HyperParameters", many) == [(f"{TRAIN}.HyperParameters", "length")]
    del many["name0"]
    assert after(f"{TRAIN}.HyperParameters", many) == []


def test_more_than_40_metrics_and_long_expressions_are_refused() -> None:
    path = f"{TRAIN}.AlgorithmSpecification.MetricDefinitions"
    metrics = [{"Name": f"m{n}", "Regex": f"m{n}=(.*)"} for n in range(41)]
    assert after(path, metrics) == [(path, "length")]
    assert after(path, metrics[1:]) == []
    long = [{"Name": "m", "Regex": "(" + "m" * 499 + ")"}]
    assert after(path, long) == [(f"{path}[0].Regex", "length")]


@pytest.mark.parametrize(
    ("path", "missing"),
    [
        (f"{TRAIN}.AlgorithmSpecification", "AlgorithmSpecification"),
        (f"{TRAIN}.ResourceConfig", "ResourceConfig"),
        (f"{TRAIN}.StoppingCondition", "StoppingCondition"),
        (f"{TRAIN}.OutputDataConfig", "OutputDataConfig"),
        (f"{TRAIN}.ResourceConfig.InstanceType", "InstanceType"),
        (f"{TRAIN}.ResourceConfig.InstanceCount", "InstanceCount"),
        (f"{TRAIN}.AlgorithmSpecification.TrainingImage", "TrainingImage"),
        ("Steps.Evaluate.Arguments.ProcessingResources.ClusterConfig.InstanceType", "InstanceType"),
        (
            "Steps.QualityGate.Arguments.IfSteps.Register.Arguments.ModelPackageGroupName",
            "ModelPackageGroupName",
        ),
    ],
)
def test_keys_of_an_ordinary_job_are_required(path: str, missing: str) -> None:
    definition = baseline()
    drop(definition, path)
    found = [(problem.path, problem.rule, problem.fix) for problem in problems(definition)]
    assert found == [(path, "missing-key", f"Add {missing}")]


def test_training_takes_an_image_or_an_algorithm() -> None:
    assert after(f"{TRAIN}.AlgorithmSpecification.AlgorithmName", "xgboost") == [
        (f"{TRAIN}.AlgorithmSpecification", "union")
    ]


@pytest.mark.parametrize(
    ("path", "key"),
    [
        (f"{TRAIN}.AlgorithmSpecification.MetricDefinitions", "Name"),
        ("Steps.Evaluate.Arguments.ProcessingInputs", "InputName"),
        ("Steps.Evaluate.Arguments.ProcessingOutputConfig.Outputs", "OutputName"),
    ],
)
def test_names_in_lists_differ(path: str, key: str) -> None:
    definition = baseline()
    items = at(definition, path)
    items.append(dict(items[0]))
    found = found_in(definition)
    assert found == [(f"{path}[{len(items) - 1}].{key}", "duplicate-name")]


def test_job_names_are_filled_by_the_pipeline_only_for_the_job_itself() -> None:
    definition = baseline()
    transform: Json = {
        "Name": "Score",
        "Type": "Transform",
        "Arguments": {
            "TransformInput": {
                "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://b/k"}}
            },
            "TransformOutput": {"S3OutputPath": "s3://b/k"},
            "TransformResources": {"InstanceType": "ml.m5.xlarge", "InstanceCount": 1},
        },
        "RetryPolicies": [RETRY],
    }
    definition["Steps"].append(transform)
    (problem,) = problems(definition)
    # TransformJobName is filled, the model's name is not.
    assert (problem.path, problem.rule) == ("Steps.Score.Arguments.ModelName", "missing-key")
