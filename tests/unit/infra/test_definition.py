"""The pipeline definition, built without CDK."""

import json
from dataclasses import fields, replace
from typing import Any

import pytest

from infra.pipeline.definition import pipeline_definition
from infra.pipeline.deployment import Deployment
from infra.pipeline.validation import check
from infra.settings import Settings, load_settings
from training.contract.hyperparameters import TrainingHyperparameters
from training.contract.layout import PYTORCH, TENSORFLOW
from training.contract.metrics import metric_definitions
from training.contract.parsing import parse
from training.shards.listing import StoredObject
from training.shards.preflight import preflight
from training.shards.request import HYPERPARAMETERS

DEPLOYMENT = Deployment(
    framework=PYTORCH,
    bucket_name="a-bucket",
    key_arn="arn:aws:kms:eu-west-1:123456789012:key/0",
    image_uri="123456789012.dkr.ecr.eu-west-1.amazonaws.com/train:1",
    training_role_arn="arn:aws:iam::123456789012:role/training",
    evaluation_role_arn="arn:aws:iam::123456789012:role/evaluation",
    preflight_function_arn="arn:aws:lambda:eu-west-1:123456789012:function:preflight",
    model_package_group_name="models",
)


@pytest.fixture(scope="module")
def settings() -> Settings:
    return load_settings("dev")


@pytest.fixture(scope="module")
def definition(settings: Settings) -> dict[str, Any]:
    return pipeline_definition(settings, DEPLOYMENT)


@pytest.fixture(scope="module")
def steps(definition: dict[str, Any]) -> dict[str, Any]:
    gate = definition["Steps"][-1]["Arguments"]
    listed = [*definition["Steps"], *gate["IfSteps"], *gate["ElseSteps"]]
    return {step["Name"]: step for step in listed}


def defaults(definition: dict[str, Any]) -> dict[str, Any]:
    return {one["Name"]: one["DefaultValue"] for one in definition["Parameters"]}


def test_parameters_are_public(definition: dict[str, Any]) -> None:
    assert [(one["Name"], one["Type"]) for one in definition["Parameters"]] == [
        ("TrainDataUri", "String"),
        ("ValidationDataUri", "String"),
        ("TestDataUri", "String"),
        ("InstanceType", "String"),
        ("InstanceCount", "Integer"),
        ("EvaluationInstanceType", "String"),
        ("Epochs", "Integer"),
        ("BatchSize", "Integer"),
        ("LearningRate", "Float"),
        ("Seed", "Integer"),
        ("AllowEmptyHosts", "String"),
        ("QualityThreshold", "Float"),
        ("ModelApprovalStatus", "String"),
    ]


def test_an_execution_needs_no_input(definition: dict[str, Any]) -> None:
    assert defaults(definition) == {
        "TrainDataUri": "s3://a-bucket/data/train/",
        "ValidationDataUri": "s3://a-bucket/data/validation/",
        "TestDataUri": "s3://a-bucket/data/test/",
        "InstanceType": "ml.g5.12xlarge",
        "InstanceCount": 2,
        "EvaluationInstanceType": "ml.m5.xlarge",
        "Epochs": 3,
        "BatchSize": 32,
        "LearningRate": 0.005,
        "Seed": 0,
        "AllowEmptyHosts": "false",
        "QualityThreshold": 0.95,
        "ModelApprovalStatus": "PendingManualApproval",
    }


def test_steps_and_their_order(steps: dict[str, Any]) -> None:
    assert {name: step["Type"] for name, step in steps.items()} == {
        "Preflight": "Lambda",
        "Train": "Training",
        "Evaluate": "Processing",
        "QualityGate": "Condition",
        "Register": "RegisterModel",
        "Reject": "Fail",
    }


def test_choices_are_listed(settings: Settings, definition: dict[str, Any]) -> None:
    choices = {
        one["Name"]: one["EnumValues"] for one in definition["Parameters"] if "EnumValues" in one
    }
    assert choices == {
        "InstanceType": list(settings.training.allowed_instance_types),
        "EvaluationInstanceType": list(settings.evaluation.allowed_instance_types),
        "AllowEmptyHosts": ["false", "true"],
        "ModelApprovalStatus": ["PendingManualApproval", "Approved", "Rejected"],
    }


def test_the_judge_accepts_it(definition: dict[str, Any]) -> None:
    check(definition)


def test_equal_settings_give_equal_bytes(settings: Settings, definition: dict[str, Any]) -> None:
    again = pipeline_definition(settings, DEPLOYMENT)
    assert json.dumps(again) == json.dumps(definition)


def test_the_trainer_knows_every_hyperparameter(
    definition: dict[str, Any], steps: dict[str, Any]
) -> None:
    given = defaults(definition)
    raw = {
        name: str(given[value["Std:Join"]["Values"][0]["Get"].removeprefix("Parameters.")])
        for name, value in steps["Train"]["Arguments"]["HyperParameters"].items()
    }
    assert set(raw) <= {field.name for field in fields(TrainingHyperparameters)}
    assert set(raw) == set(HYPERPARAMETERS)
    parsed = parse(TrainingHyperparameters, raw)
    assert (parsed.epochs, parsed.batch_size, parsed.learning_rate, parsed.seed) == (
        3,
        32,
        0.005,
        0,
    )


def test_preflight_understands_its_arguments(
    definition: dict[str, Any], steps: dict[str, Any]
) -> None:
    given = defaults(definition)
    event = {
        name: given[value["Get"].removeprefix("Parameters.")]
        for name, value in steps["Preflight"]["Arguments"].items()
    }
    outputs = preflight(
        event, lambda _, prefix: [StoredObject(f"{prefix}{name}.jsonl", 1) for name in ("a", "b")]
    )
    assert set(outputs) == {one["OutputName"] for one in steps["Preflight"]["OutputParameters"]}


def test_preflight_and_train_get_the_same_numbers(steps: dict[str, Any]) -> None:
    asked = steps["Preflight"]["Arguments"]
    trained = steps["Train"]["Arguments"]["HyperParameters"]
    for name, parameter in HYPERPARAMETERS.items():
        assert asked[name] == {"Get": f"Parameters.{parameter}"}
        assert trained[name]["Std:Join"]["Values"] == [asked[name]]
    assert asked["quality_threshold"] == {"Get": "Parameters.QualityThreshold"}


def test_settings_add_hyperparameters(settings: Settings) -> None:
    values = settings.model_dump()
    values["pytorch"]["hyperparameters"] = {"program": "training/launch.py", "width": "7"}
    definition = pipeline_definition(Settings.model_validate(values), DEPLOYMENT)
    asked, trained = (step["Arguments"] for step in definition["Steps"][:2])
    assert list(trained["HyperParameters"]) == [*HYPERPARAMETERS, "program", "width"]
    assert trained["HyperParameters"]["width"] == "7"
    # So that Preflight lets the script read files that the trainer could not.
    assert asked["program"] == "training/launch.py"
    check(definition)


def test_without_a_program_preflight_is_told_of_none(steps: dict[str, Any]) -> None:
    assert "program" not in steps["Preflight"]["Arguments"]


def test_train_waits_for_preflight_and_scrapes_the_trainers_lines(steps: dict[str, Any]) -> None:
    train = steps["Train"]["Arguments"]
    assert train["Environment"] == {
        "EVENSHARD_DATA_DIGEST": {"Get": "Steps.Preflight.OutputParameters['data_digest']"}
    }
    assert train["AlgorithmSpecification"]["MetricDefinitions"] == metric_definitions()


def test_reject_says_the_numbers(steps: dict[str, Any]) -> None:
    said = steps["Reject"]["Arguments"]["ErrorMessage"]["Std:Join"]["Values"]
    assert {"Get": "Parameters.QualityThreshold"} in said
    assert {"Get": "Steps.Evaluate.ExitMessage"} in said


def test_a_warm_pool_keeps_instances(settings: Settings) -> None:
    values = settings.model_dump()
    values["training"]["capacity"] = {
        "kind": "warm-pool",
        "keep_alive_s": 600,
        "max_pending_s": 3_600,
    }
    definition = pipeline_definition(Settings.model_validate(values), DEPLOYMENT)
    train = definition["Steps"][1]["Arguments"]
    assert train["ResourceConfig"]["KeepAlivePeriodInSeconds"] == 600
    assert train["StoppingCondition"]["MaxPendingTimeInSeconds"] == 3_600
    check(definition)


def test_a_framework_has_its_own_commands_and_hyperparameters(settings: Settings) -> None:
    values = settings.model_dump()
    values["pytorch"]["hyperparameters"] = {"hidden_dim": "7"}
    changed = Settings.model_validate(values)
    deployment = replace(DEPLOYMENT, framework=TENSORFLOW)
    definition = pipeline_definition(changed, deployment)
    train, evaluate = (step["Arguments"] for step in definition["Steps"][1:3])
    assert "hidden_dim" not in train["HyperParameters"]
    for said in (train["AlgorithmSpecification"], evaluate["AppSpecification"]):
        assert said["ContainerEntrypoint"][-1] == TENSORFLOW
    check(definition)


def test_the_input_mode_is_the_settings(settings: Settings) -> None:
    values = settings.model_dump()
    values["training"]["input_mode"] = "FastFile"
    definition = pipeline_definition(Settings.model_validate(values), DEPLOYMENT)
    train = definition["Steps"][1]["Arguments"]
    assert train["AlgorithmSpecification"]["TrainingInputMode"] == "FastFile"
    # Each channel goes by it.
    assert not [one for one in train["InputDataConfig"] if "InputMode" in one]
    check(definition)


def test_spot_says_how_long_it_waits(settings: Settings) -> None:
    values = settings.model_dump()
    values["training"]["capacity"] = {"kind": "spot", "max_wait_s": 172_800}
    definition = pipeline_definition(Settings.model_validate(values), DEPLOYMENT)
    step = definition["Steps"][1]
    assert step["Arguments"]["EnableManagedSpotTraining"] is True
    assert step["Arguments"]["StoppingCondition"] == {
        "MaxRuntimeInSeconds": 86_400,
        "MaxWaitTimeInSeconds": 172_800,
    }
    [sold_out] = [
        one for one in step["RetryPolicies"] if one["ExceptionType"] == ["SageMaker.CAPACITY_ERROR"]
    ]
    assert sold_out["ExpireAfterMin"] == 2_880
    check(definition)


def test_checkpoints_belong_to_an_execution(steps: dict[str, Any]) -> None:
    train = steps["Train"]["Arguments"]
    execution = {"Get": "Execution.PipelineExecutionId"}
    assert train["CheckpointConfig"] == {
        "S3Uri": {"Std:Join": {"On": "", "Values": ["s3://a-bucket/checkpoints/", execution, "/"]}},
        "LocalPath": "/opt/ml/checkpoints",
    }
    assert train["TensorBoardOutputConfig"] == {
        "S3OutputPath": {
            "Std:Join": {
                "On": "/",
                "Values": ["s3://a-bucket/executions", execution, "tensorboard"],
            }
        },
        "LocalPath": "/opt/ml/output/tensorboard",
    }


def test_every_step_says_what_it_does(steps: dict[str, Any]) -> None:
    for step in steps.values():
        assert 0 < len(step["DisplayName"]) <= 40
        assert 20 <= len(step["Description"]) <= 120
