"""Mistakes that the synth must refuse, each in one place of a correct definition.

They fit every definition with the steps and parameters of the training pipelines: the tests apply
them to the baseline and to what infra/ really builds.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tests.definition.edits import Json, at, drop, get, put

TRAIN: Final = "Steps.Train.Arguments"
EVALUATE: Final = "Steps.Evaluate.Arguments"
GATE: Final = "Steps.QualityGate.Arguments"


@dataclass(frozen=True, slots=True)
class Mutation:
    """One mistake and what must be said about it."""

    name: str
    make: Callable[[Json], None]
    """Changes a definition in place."""
    path: str
    """Of the one problem."""
    rule: str
    fix: str
    """Text in what to do."""


def _set(path: str, value: Json) -> Callable[[Json], None]:
    return lambda definition: put(definition, path, value)


def _append(path: str, value: Json) -> Callable[[Json], None]:
    return lambda definition: at(definition, path).append(value)


def _repeat(path: str, index: int) -> Callable[[Json], None]:
    """Append a copy of a list's member to the list."""

    def make(definition: Json) -> None:
        items = at(definition, path)
        items.append(copy.deepcopy(items[index]))

    return make


NESTED: Final = {
    "Name": "SecondGate",
    "Type": "Condition",
    "Arguments": {
        "Conditions": [{"Type": "Equals", "LeftValue": 1, "RightValue": 1}],
        "IfSteps": [{"Name": "Late", "Type": "Fail", "Arguments": {"ErrorMessage": "late"}}],
        "ElseSteps": [],
    },
}
RETRY: Final = {"ExceptionType": ["Step.THROTTLING"], "MaxAttempts": 2}

MUTATIONS: Final = (
    Mutation(
        "unknown key",
        _set(f"{TRAIN}.ResourceConfig.InstanceCuont", 2),
        f"{TRAIN}.ResourceConfig.InstanceCuont",
        "unknown-key",
        "Write 'InstanceCount'",
    ),
    Mutation(
        "wrong type",
        _set(f"{TRAIN}.StoppingCondition.MaxRuntimeInSeconds", "3600"),
        f"{TRAIN}.StoppingCondition.MaxRuntimeInSeconds",
        "wrong-type",
        "Give an integer",
    ),
    Mutation(
        "missing key",
        lambda definition: drop(definition, f"{TRAIN}.RoleArn"),
        f"{TRAIN}.RoleArn",
        "missing-key",
        "Add RoleArn",
    ),
    Mutation(
        "enum",
        _set(f"{TRAIN}.AlgorithmSpecification.TrainingInputMode", "Files"),
        f"{TRAIN}.AlgorithmSpecification.TrainingInputMode",
        "enum",
        "Write 'File'",
    ),
    Mutation(
        "pattern",
        _set(f"{EVALUATE}.ProcessingInputs[1].S3Input.S3Uri", "data/test/"),
        f"{EVALUATE}.ProcessingInputs[1].S3Input.S3Uri",
        "pattern",
        "Write it in this form",
    ),
    Mutation(
        "range",
        _set(f"{EVALUATE}.ProcessingResources.ClusterConfig.InstanceCount", 0),
        f"{EVALUATE}.ProcessingResources.ClusterConfig.InstanceCount",
        "range",
        "Give a value in range",
    ),
    Mutation(
        "undeclared parameter",
        _set(f"{TRAIN}.ResourceConfig.InstanceCount", get("Parameters.InstanceCounts")),
        f"{TRAIN}.ResourceConfig.InstanceCount",
        "undeclared-parameter",
        "Write 'InstanceCount'",
    ),
    Mutation(
        "parameter of wrong type",
        _set(f"{TRAIN}.ResourceConfig.InstanceCount", get("Parameters.LearningRate")),
        f"{TRAIN}.ResourceConfig.InstanceCount",
        "expression-type",
        "Read a value of type integer",
    ),
    Mutation(
        "wrong default type",
        _set("Parameters.InstanceCount.DefaultValue", "2"),
        "Parameters.InstanceCount.DefaultValue",
        "parameter-default-type",
        "Give a value of type Integer",
    ),
    Mutation(
        "unknown step",
        _set(
            f"{EVALUATE}.ProcessingInputs[0].S3Input.S3Uri",
            get("Steps.Trian.ModelArtifacts.S3ModelArtifacts"),
        ),
        f"{EVALUATE}.ProcessingInputs[0].S3Input.S3Uri",
        "unknown-step",
        "Write 'Train'",
    ),
    Mutation(
        "unknown output",
        _set(
            f"{TRAIN}.Environment.EVENSHARD_DATA_DIGEST",
            get("Steps.Preflight.OutputParameters['data_digset']"),
        ),
        f"{TRAIN}.Environment.EVENSHARD_DATA_DIGEST",
        "unknown-output",
        "Write 'data_digest'",
    ),
    Mutation(
        "unknown property",
        _set(
            f"{EVALUATE}.ProcessingInputs[0].S3Input.S3Uri",
            get("Steps.Train.ModelArtefacts.S3ModelArtifacts"),
        ),
        f"{EVALUATE}.ProcessingInputs[0].S3Input.S3Uri",
        "unknown-property",
        "Write 'ModelArtifacts'",
    ),
    Mutation(
        "unknown property file",
        _set(
            f"{GATE}.Conditions[0].LeftValue.Std:JsonGet.PropertyFile",
            get("Steps.Evaluate.PropertyFiles.Evaluations"),
        ),
        f"{GATE}.Conditions[0].LeftValue.Std:JsonGet.PropertyFile",
        "unknown-property-file",
        "Write 'Evaluation'",
    ),
    Mutation(
        "cycle",
        _set("Steps.Preflight.DependsOn", ["Evaluate"]),
        "Steps.Preflight",
        "cycle",
        "Remove one of these references",
    ),
    Mutation(
        "duplicate step", _repeat("Steps", 0), "Steps[4].Name", "duplicate-step", "Rename one"
    ),
    Mutation(
        "duplicate channel",
        _repeat(f"{TRAIN}.InputDataConfig", 1),
        f"{TRAIN}.InputDataConfig[2].ChannelName",
        "duplicate-name",
        "Rename or remove",
    ),
    Mutation(
        "DependsOn a condition",
        _set("Steps.Evaluate.DependsOn", ["QualityGate"]),
        "Steps.Evaluate.DependsOn[0]",
        "depends-on-condition",
        "Move this step into a branch of QualityGate",
    ),
    Mutation(
        "nested condition",
        _append(f"{GATE}.IfSteps", NESTED),
        f"{GATE}.IfSteps.SecondGate.Type",
        "nested-condition",
        "Conditions of QualityGate",
    ),
    Mutation(
        "retry policy on a Lambda",
        _set("Steps.Preflight.RetryPolicies", [RETRY]),
        "Steps.Preflight.RetryPolicies",
        "retry-policy-not-supported",
        "Remove RetryPolicies",
    ),
    Mutation(
        "unknown exception type",
        _set("Steps.Train.RetryPolicies", [RETRY | {"ExceptionType": ["Step.SERVICE_FAULTS"]}]),
        "Steps.Train.RetryPolicies[0].ExceptionType[0]",
        "unknown-exception-type",
        "Write 'Step.SERVICE_FAULT'",
    ),
    Mutation(
        "both retry limits",
        _set("Steps.Train.RetryPolicies", [RETRY | {"ExpireAfterMin": 60}]),
        "Steps.Train.RetryPolicies[0]",
        "retry-limit",
        "Keep MaxAttempts or ExpireAfterMin",
    ),
    Mutation(
        "checkpoints of all executions in one place",
        _set(f"{TRAIN}.CheckpointConfig.S3Uri", "s3://bucket/checkpoints/"),
        f"{TRAIN}.CheckpointConfig.S3Uri",
        "checkpoint-per-execution",
        "Join the prefix with the execution's id",
    ),
    Mutation(
        "checkpoints where no trainer writes them",
        _set(f"{TRAIN}.CheckpointConfig.LocalPath", "/tmp/checkpoints"),  # noqa: S108 - a mistake
        f"{TRAIN}.CheckpointConfig.LocalPath",
        "training-path",
        "Write '/opt/ml/checkpoints'",
    ),
    Mutation(
        "spot that waits for nothing",
        _set(f"{TRAIN}.EnableManagedSpotTraining", True),
        f"{TRAIN}.StoppingCondition.MaxWaitTimeInSeconds",
        "spot-needs-max-wait",
        "Add it",
    ),
    Mutation(
        "waiting without spot",
        _set(f"{TRAIN}.StoppingCondition.MaxWaitTimeInSeconds", 172_800),
        f"{TRAIN}.StoppingCondition.MaxWaitTimeInSeconds",
        "max-wait-needs-spot",
        "set EnableManagedSpotTraining",
    ),
    Mutation(
        "uncompilable metric regex",
        _set(f"{TRAIN}.AlgorithmSpecification.MetricDefinitions[0].Regex", "train_loss=([0-9.]+"),
        f"{TRAIN}.AlgorithmSpecification.MetricDefinitions[0].Regex",
        "metric-regex",
        "Correct it",
    ),
    Mutation(
        "sharded validation channel",
        _set(
            f"{TRAIN}.InputDataConfig[1].DataSource.S3DataSource.S3DataDistributionType",
            "ShardedByS3Key",
        ),
        f"{TRAIN}.InputDataConfig[1].DataSource.S3DataSource.S3DataDistributionType",
        "whole-channel-replicated",
        "Write 'FullyReplicated'",
    ),
    Mutation(
        "replicated train channel",
        _set(
            f"{TRAIN}.InputDataConfig[0].DataSource.S3DataSource.S3DataDistributionType",
            "FullyReplicated",
        ),
        f"{TRAIN}.InputDataConfig[0].DataSource.S3DataSource.S3DataDistributionType",
        "train-channel-sharded",
        "Write 'ShardedByS3Key'",
    ),
    Mutation(
        "bare non-string Get in hyperparameters",
        _set(f"{TRAIN}.HyperParameters.epochs", get("Parameters.Epochs")),
        f"{TRAIN}.HyperParameters.epochs",
        "expression-type",
        "Wrap it in Std:Join",
    ),
)
