"""For each of our own rules a change of the definition that keeps it, and one that breaks it."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.definition.documents import RETRY
from tests.definition.edits import Json, as_text, at, drop, get, put

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


def spot(definition: Json) -> None:
    put(definition, f"{TRAIN}.EnableManagedSpotTraining", True)
    put(definition, WAIT, 2 * 86400)


def _spot_without_checkpoint(definition: Json) -> None:
    spot(definition)
    drop(definition, f"{TRAIN}.CheckpointConfig")


def _spot_that_waits_too_little(definition: Json) -> None:
    spot(definition)
    put(definition, WAIT, 3600)


def _spot_in_a_warm_pool(definition: Json) -> None:
    spot(definition)
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
    "max-wait-needs-spot": Case(spot, set_one(WAIT, 172_800), WAIT),
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
    "spot-needs-checkpoint": Case(spot, _spot_without_checkpoint, f"{TRAIN}.CheckpointConfig"),
    "spot-needs-max-wait": Case(spot, _spot_that_waits_too_little, WAIT),
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
