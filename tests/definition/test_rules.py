"""Our own rules: each has a definition that passes and one that fails."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from infra.pipeline.validation import problems, rules
from infra.pipeline.validation.rules import RULES
from tests.definition.documents import RETRY, Json, as_text, at, baseline, drop, get, put

TRAIN = "Steps.Train.Arguments"
RESOURCES = f"{TRAIN}.ResourceConfig"
WAIT = f"{TRAIN}.StoppingCondition.MaxWaitTimeInSeconds"
SOURCE = "DataSource.S3DataSource.S3DataDistributionType"
CHECKPOINT = f"{TRAIN}.CheckpointConfig.S3Uri"
REPOSITORY = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/evenshard"
DIGEST = f"sha256:{'0' * 64}"
EXECUTION_ID = get("Execution.PipelineExecutionId")


@dataclass(frozen=True, slots=True)
class Case:
    """How a rule is kept and how it is broken."""

    passes: Callable[[Json], None]
    fails: Callable[[Json], None]
    path: str
    """Of the problem of the failing definition."""


def set_all(**values: Json) -> Callable[[Json], None]:
    """Set several paths; `__` stands for the dot."""

    def change(definition: Json) -> None:
        for path, value in values.items():
            put(definition, f"{TRAIN}.{path.replace('__', '.')}", value)

    return change


def set_one(path: str, value: Json) -> Callable[[Json], None]:
    """Set one path."""
    return lambda definition: put(definition, path, value)


def _spot(definition: Json) -> None:
    put(definition, f"{TRAIN}.EnableManagedSpotTraining", True)
    put(definition, WAIT, 2 * 86400)


def _spot_without_checkpoint(definition: Json) -> None:
    _spot(definition)
    drop(definition, f"{TRAIN}.CheckpointConfig")


def _spot_that_waits_too_little(definition: Json) -> None:
    _spot(definition)
    put(definition, WAIT, 3600)


def _spot_in_a_warm_pool(definition: Json) -> None:
    _spot(definition)
    put(definition, f"{RESOURCES}.KeepAlivePeriodInSeconds", 600)


def _volume_key_on(instance_type: str) -> Callable[[Json], None]:
    def change(definition: Json) -> None:
        put(definition, "Parameters.InstanceType.DefaultValue", instance_type)
        put(definition, "Parameters.InstanceType.EnumValues", [instance_type])
        put(definition, f"{RESOURCES}.VolumeKmsKeyId", "key")

    return change


def _announce(outside: bool) -> Callable[[Json], None]:  # noqa: FBT001 the two cases of one rule
    def change(definition: Json) -> None:
        step = dict(at(definition, "Steps.Preflight")) | {"Name": "Announce"}
        step["Arguments"] = {"model": get("Steps.Register.ModelPackageArn")}
        place = "Steps" if outside else "Steps.QualityGate.Arguments.IfSteps"
        at(definition, place).append(step)

    return change


def _json_by_uri(depends_on: list[str]) -> Callable[[Json], None]:
    def change(definition: Json) -> None:
        value = {"Std:JsonGet": {"S3Uri": as_text("s3://bucket/e.json"), "Path": "a"}}
        put(definition, "Steps.QualityGate.Arguments.Conditions[0].LeftValue", value)
        put(definition, "Steps.QualityGate.DependsOn", depends_on)

    return change


CASES = {
    "branch-read-from-outside": Case(
        _announce(outside=False), _announce(outside=True), "Steps.Announce"
    ),
    "checkpoint-per-execution": Case(
        set_one(CHECKPOINT, {"Std:Join": {"On": "/", "Values": ["s3://b", EXECUTION_ID, "c/"]}}),
        set_one(CHECKPOINT, "s3://bucket/checkpoints/"),
        CHECKPOINT,
    ),
    "hyperparameter-value-length": Case(
        set_all(HyperParameters__note="x" * 256),
        set_all(HyperParameters__note="x" * 257),
        f"{TRAIN}.HyperParameters.note",
    ),
    "image-name-fixed": Case(
        set_one(f"{TRAIN}.AlgorithmSpecification.TrainingImage", f"{REPOSITORY}@{DIGEST}"),
        set_one(f"{TRAIN}.AlgorithmSpecification.TrainingImage", f"{REPOSITORY}:latest"),
        f"{TRAIN}.AlgorithmSpecification.TrainingImage",
    ),
    "job-isolated": Case(
        set_one("Steps.Evaluate.Arguments.NetworkConfig", {"EnableNetworkIsolation": True}),
        lambda definition: drop(definition, "Steps.Evaluate.Arguments.NetworkConfig"),
        "Steps.Evaluate.Arguments.NetworkConfig.EnableNetworkIsolation",
    ),
    "job-needs-limit": Case(
        set_one("Steps.Evaluate.Arguments.StoppingCondition.MaxRuntimeInSeconds", 60),
        lambda definition: drop(definition, "Steps.Evaluate.Arguments.StoppingCondition"),
        "Steps.Evaluate.Arguments.StoppingCondition.MaxRuntimeInSeconds",
    ),
    "json-get-without-dependency": Case(
        _json_by_uri(["Evaluate"]),
        _json_by_uri([]),
        "Steps.QualityGate.Arguments.Conditions[0].LeftValue",
    ),
    "literal-secret": Case(
        set_all(Environment__TOKENIZER_PATH="x", HyperParameters__tokens_per_step="8"),
        set_one(f"{TRAIN}.Environment.HUB_TOKEN", "x"),
        f"{TRAIN}.Environment.HUB_TOKEN",
    ),
    "max-wait-needs-spot": Case(_spot, set_one(WAIT, 172_800), WAIT),
    "metric-regex": Case(
        set_one(f"{TRAIN}.AlgorithmSpecification.MetricDefinitions[0].Regex", "loss=(.*)"),
        set_one(f"{TRAIN}.AlgorithmSpecification.MetricDefinitions[0].Regex", "loss=.*"),
        f"{TRAIN}.AlgorithmSpecification.MetricDefinitions[0].Regex",
    ),
    "output-needs-key": Case(
        set_one(f"{TRAIN}.OutputDataConfig.KmsKeyId", "alias/data"),
        lambda definition: drop(definition, f"{TRAIN}.OutputDataConfig.KmsKeyId"),
        f"{TRAIN}.OutputDataConfig.KmsKeyId",
    ),
    "parameter-name": Case(
        lambda definition: definition["Parameters"].append({"Name": "X2", "Type": "String"}),
        lambda definition: definition["Parameters"].append({"Name": "x-2", "Type": "String"}),
        "Parameters.x-2.Name",
    ),
    "processing-path": Case(
        set_one(
            "Steps.Evaluate.Arguments.ProcessingInputs[1].S3Input.LocalPath",
            "/opt/ml/processing/test",
        ),
        set_one("Steps.Evaluate.Arguments.ProcessingInputs[1].S3Input.LocalPath", "/opt/ml/test"),
        "Steps.Evaluate.Arguments.ProcessingInputs[1].S3Input.LocalPath",
    ),
    "spot-needs-checkpoint": Case(_spot, _spot_without_checkpoint, f"{TRAIN}.CheckpointConfig"),
    "spot-needs-max-wait": Case(_spot, _spot_that_waits_too_little, WAIT),
    "step-needs-retries": Case(
        set_one("Steps.Train.RetryPolicies", [RETRY]),
        set_one("Steps.Train.RetryPolicies", []),
        "Steps.Train.RetryPolicies",
    ),
    "train-channel-sharded": Case(
        set_one(f"{TRAIN}.InputDataConfig[0].{SOURCE}", "ShardedByS3Key"),
        lambda definition: drop(definition, f"{TRAIN}.InputDataConfig[0].{SOURCE}"),
        f"{TRAIN}.InputDataConfig[0].{SOURCE}",
    ),
    "training-has-hosts": Case(
        set_one("Parameters.InstanceCount.DefaultValue", 1),
        set_one("Parameters.InstanceCount.DefaultValue", 0),
        "Parameters.InstanceCount.DefaultValue",
    ),
    "training-not-cached": Case(
        set_one("Steps.Train.CacheConfig", {"Enabled": False}),
        set_one("Steps.Train.CacheConfig", {"Enabled": True, "ExpireAfter": "P30D"}),
        "Steps.Train.CacheConfig.Enabled",
    ),
    "training-path": Case(
        lambda definition: drop(definition, f"{TRAIN}.CheckpointConfig.LocalPath"),
        set_one(f"{TRAIN}.CheckpointConfig.LocalPath", "/opt/ml/model/checkpoints"),
        f"{TRAIN}.CheckpointConfig.LocalPath",
    ),
    "volume-key-needs-volume": Case(
        _volume_key_on("ml.p3.8xlarge"),
        _volume_key_on("ml.g5.12xlarge"),
        f"{RESOURCES}.VolumeKmsKeyId",
    ),
    "warm-pool-excludes-spot": Case(
        set_one(f"{RESOURCES}.KeepAlivePeriodInSeconds", 600),
        _spot_in_a_warm_pool,
        f"{RESOURCES}.KeepAlivePeriodInSeconds",
    ),
    "whole-channel-replicated": Case(
        # Absent means FullyReplicated.
        lambda definition: drop(definition, f"{TRAIN}.InputDataConfig[1].{SOURCE}"),
        set_one(
            "Steps.Evaluate.Arguments.ProcessingInputs[0].S3Input.S3DataDistributionType",
            "ShardedByS3Key",
        ),
        "Steps.Evaluate.Arguments.ProcessingInputs[0].S3Input.S3DataDistributionType",
    ),
}


def test_every_rule_module_is_registered_and_has_its_cases() -> None:
    folder = Path(rules.__file__).parent
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert {rule.__module__.rpartition(".")[2] for rule in RULES.values()} == modules
    assert set(RULES) == set(CASES)


@pytest.mark.parametrize("rule", sorted(CASES))
def test_definition_that_keeps_the_rule_passes(rule: str) -> None:
    definition = baseline()
    CASES[rule].passes(definition)
    assert problems(definition) == []


@pytest.mark.parametrize("rule", sorted(CASES))
def test_definition_that_breaks_the_rule_fails(rule: str) -> None:
    definition = baseline()
    CASES[rule].fails(definition)
    found = [(problem.path, problem.rule) for problem in problems(definition)]
    assert found == [(CASES[rule].path, rule)]


@pytest.mark.parametrize("image", [REPOSITORY, f"localhost:5000/{REPOSITORY}", "a:latest"])
def test_an_image_that_may_change_is_refused_where_a_model_names_it(image: str) -> None:
    definition = baseline()
    place = "Steps.QualityGate.Arguments.IfSteps"
    [register] = at(definition, place)
    register["Arguments"]["InferenceSpecification"]["Containers"][0]["Image"] = image
    (problem,) = problems(definition)
    assert problem.rule == "image-name-fixed"
    assert problem.path.endswith("Register.Arguments.InferenceSpecification.Containers[0].Image")


@pytest.mark.parametrize("value", ["AKIA" + "0" * 16, "-----BEGIN RSA PRIVATE KEY-----"])
def test_a_value_that_looks_like_a_key_is_refused_and_not_repeated(value: str) -> None:
    definition = baseline()
    put(definition, f"{TRAIN}.HyperParameters.note", value)
    (problem,) = problems(definition)
    assert problem.rule == "literal-secret"
    assert value not in str(problem)


def test_isolation_is_no_run_time_switch() -> None:
    definition = baseline()
    definition["Parameters"].append({"Name": "Isolate", "Type": "Boolean", "DefaultValue": True})
    put(definition, f"{TRAIN}.EnableNetworkIsolation", get("Parameters.Isolate"))
    assert [problem.rule for problem in problems(definition)] == ["job-isolated"]


def test_spot_is_no_run_time_switch() -> None:
    definition = baseline()
    _spot(definition)
    definition["Parameters"].append({"Name": "Spot", "Type": "Boolean", "DefaultValue": True})
    put(definition, f"{TRAIN}.EnableManagedSpotTraining", get("Parameters.Spot"))
    assert [problem.rule for problem in problems(definition)] == ["max-wait-needs-spot"]


def test_spot_without_max_wait_is_refused() -> None:
    definition = baseline()
    _spot(definition)
    drop(definition, WAIT)
    assert [problem.rule for problem in problems(definition)] == ["spot-needs-max-wait"]


@pytest.mark.parametrize(
    "uri", [as_text("s3://bucket/", EXECUTION_ID), as_text("s3://b/", EXECUTION_ID, "/c")]
)
def test_a_checkpoint_prefix_without_its_slash_is_refused(uri: Json) -> None:
    definition = baseline()
    put(definition, CHECKPOINT, uri)
    (problem,) = problems(definition)
    assert (problem.path, problem.rule) == (CHECKPOINT, "checkpoint-per-execution")
    assert problem.fix == "Add a slash at the end"


def test_a_checkpoint_prefix_may_end_in_a_token() -> None:
    definition = baseline()
    put(definition, CHECKPOINT, as_text("s3://b/", EXECUTION_ID, "${Token[TOKEN.1]}"))
    assert problems(definition) == []


def test_tensorboard_events_are_where_the_trainers_write_them() -> None:
    definition = baseline()
    config = {"S3OutputPath": "s3://bucket/t/", "LocalPath": "/opt/ml/output/tensorboard"}
    put(definition, f"{TRAIN}.TensorBoardOutputConfig", config)
    assert problems(definition) == []
    config["LocalPath"] = "/opt/tensorboard"
    (problem,) = problems(definition)
    assert problem.path == f"{TRAIN}.TensorBoardOutputConfig.LocalPath"


@pytest.mark.parametrize("name", ["validation", "test", "model", "vocabulary"])
def test_whole_channels_by_name(name: str) -> None:
    definition = baseline()
    channel = at(definition, f"{TRAIN}.InputDataConfig[1]")
    channel["ChannelName"] = name
    channel["DataSource"]["S3DataSource"]["S3DataDistributionType"] = "ShardedByS3Key"
    assert [problem.rule for problem in problems(definition)] == ["whole-channel-replicated"]


def test_train_channel_on_a_file_system_is_refused() -> None:
    definition = baseline()
    source = {
        "FileSystemDataSource": {
            "FileSystemId": "fs-12345678901",
            "FileSystemAccessMode": "ro",
            "FileSystemType": "FSxLustre",
            "DirectoryPath": "/train",
        }
    }
    put(definition, f"{TRAIN}.InputDataConfig[0].DataSource", source)
    assert [problem.rule for problem in problems(definition)] == ["train-channel-sharded"]
