"""Train: N instances, each with its own part of the training data."""

from pathlib import Path

from infra.pipeline.capacity import patience_min, with_capacity
from infra.pipeline.deployment import TENSORBOARD_FOLDER, TRAINING_FOLDER, Deployment
from infra.pipeline.expressions import Json, as_string, step_property
from infra.pipeline.parameters import Parameters
from infra.pipeline.retries import job_retries
from infra.pipeline.sdk import ExecutionVariables, Join, TrainingInput
from infra.pipeline.settings import FrameworkSettings, TrainingSettings
from infra.pipeline.steps.preflight import DATA_DIGEST
from training.contract.layout import (
    DATA_DIGEST_VARIABLE,
    DEFAULT_BASE_DIR,
    TRAIN_CHANNEL,
    VALIDATION_CHANNEL,
    training_entrypoint,
)
from training.contract.metrics import metric_definitions
from training.contract.paths import ContainerPaths

NAME = "Train"
CONTAINER = ContainerPaths(Path(DEFAULT_BASE_DIR))

MODEL_ARTIFACTS = step_property(NAME, "ModelArtifacts.S3ModelArtifacts")


def train(
    p: Parameters, deployment: Deployment, settings: TrainingSettings, own: FrameworkSettings
) -> Json:
    """The training job. It waits for Preflight, whose digest it carries."""
    job = {
        **_program(p, deployment, settings, own),
        **_data(p, deployment),
        "ResourceConfig": {
            "InstanceType": p.instance_type,
            "InstanceCount": p.instance_count,
            "VolumeSizeInGB": settings.volume_gb,
            **deployment.volume_key(settings),
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": settings.max_runtime_s},
        "EnableNetworkIsolation": True,
        "EnableInterContainerTrafficEncryption": deployment.encrypt_traffic,
        **({"VpcConfig": deployment.network.vpc_config()} if deployment.network else {}),
        "RoleArn": deployment.training_role_arn,
        "Tags": deployment.job_tags(),
    }
    return {
        "Name": NAME,
        "Type": "Training",
        "DisplayName": "Train on sharded data",
        "Description": "Each host trains on its own part of TrainDataUri, however uneven",
        "Arguments": with_capacity(job, settings.capacity),
        "RetryPolicies": job_retries(sold_out_min=patience_min(settings.capacity)),
    }


def _program(
    p: Parameters, deployment: Deployment, settings: TrainingSettings, own: FrameworkSettings
) -> Json:
    return {
        "AlgorithmSpecification": {
            "TrainingImage": deployment.image_uri,
            "TrainingInputMode": settings.input_mode,
            "ContainerEntrypoint": training_entrypoint(deployment.framework),
            "MetricDefinitions": metric_definitions(),
        },
        "HyperParameters": {
            "epochs": as_string(p.epochs),
            "batch_size": as_string(p.batch_size),
            "learning_rate": as_string(p.learning_rate),
            "seed": as_string(p.seed),
            **own.hyperparameters,
        },
        "Environment": {DATA_DIGEST_VARIABLE: DATA_DIGEST},
    }


def _data(p: Parameters, deployment: Deployment) -> Json:
    """What the job reads and writes: one folder per execution for each kind of output."""
    execution = ExecutionVariables.PIPELINE_EXECUTION_ID
    return {
        "InputDataConfig": [
            _channel(TRAIN_CHANNEL, p.train_data_uri, distribution="ShardedByS3Key"),
            _channel(VALIDATION_CHANNEL, p.validation_data_uri, distribution="FullyReplicated"),
        ],
        "OutputDataConfig": {
            "S3OutputPath": Join(
                on="/", values=[deployment.executions_uri, execution, TRAINING_FOLDER]
            ),
            "KmsKeyId": deployment.key_arn,
        },
        "CheckpointConfig": {
            # The final slash: a prefix is a string prefix. Source: docs/facts.md 2.
            "S3Uri": Join(on="", values=[f"{deployment.checkpoints_uri}/", execution, "/"]),
            "LocalPath": CONTAINER.checkpoint_dir.as_posix(),
        },
        "TensorBoardOutputConfig": {
            "S3OutputPath": Join(
                on="/", values=[deployment.executions_uri, execution, TENSORBOARD_FOLDER]
            ),
            "LocalPath": CONTAINER.tensorboard_dir.as_posix(),
        },
    }


def _channel(name: str, uri: object, *, distribution: str) -> Json:
    return {"ChannelName": name, **TrainingInput(uri, distribution=distribution).config}
