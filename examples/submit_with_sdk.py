"""Submit one training job with SageMaker's Python SDK, without a pipeline.

The example that is passed around for ShardedByS3Key hands an entry point and one sharded channel to
the SDK's PyTorch estimator. The estimator is gone in version 3 of the SDK, and the job that it made
cannot work as described (README.md, "Coming from the usual example"). This is the same submission
with the classes of sagemaker-core, the core of that version, and an image of this project:

    .venv/bin/python examples/submit_with_sdk.py --image IMAGE --role ROLE --bucket BUCKET --key KEY

They are those of a deployed environment, or your own; docs/operations.md, "One job without a
pipeline", says where to read them. Credentials and region are boto3's usual ones.
A script of your own in place of the trainer:

    ... --hyperparameter program=examples/pytorch/train.py

A comment that starts with "Usual:" says what the usual submission has there. What Preflight checks
before a pipeline's job, nobody checks here: give no more hosts than there are shards.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError
from sagemaker.core.resources import TrainingJob
from sagemaker.core.shapes import (
    AlgorithmSpecification,
    Channel,
    CheckpointConfig,
    DataSource,
    MetricDefinition,
    OutputDataConfig,
    ResourceConfig,
    S3DataSource,
    StoppingCondition,
)

from training.contract.layout import (
    FRAMEWORKS,
    PYTORCH,
    TRAIN_CHANNEL,
    VALIDATION_CHANNEL,
    training_entrypoint,
)
from training.contract.metrics import metric_definitions

NAME_START = "pipelines-by-hand"
"""A deployed environment's training role acts for jobs whose name starts with `pipelines-` only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """One training job."""

    name: str
    """Unique in account and region; also names the folders of what the job writes."""
    framework: str
    """One of training.contract.layout.FRAMEWORKS."""
    image_uri: str
    """Built from the framework's Dockerfile."""
    role_arn: str
    """Reads `data/`, writes `executions/*/train/` and syncs `checkpoints/` in the bucket."""
    bucket: str
    key_arn: str | None
    """Encrypts the model. None: the account's own key for S3, whatever the bucket's is."""
    data_uri: str
    """Below it lie `train/` and `validation/`; with a slash at its end."""
    instance_type: str
    instance_count: int
    """Hosts; never more than there are objects below `train/`."""
    max_runtime_s: int
    hyperparameters: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    """A budget counts what its tag is on."""


def request(job: Submission) -> dict[str, Any]:
    """The arguments of `TrainingJob.create`."""
    return {
        "training_job_name": job.name,
        "role_arn": job.role_arn,
        "algorithm_specification": AlgorithmSpecification(
            # Usual: the SDK's image for a framework's version, and `entry_point`, which its
            # toolkit starts once per host: no ranks, so every host trains a model of its own.
            training_image=job.image_uri,
            container_entrypoint=training_entrypoint(job.framework),
            training_input_mode="File",
            metric_definitions=[
                MetricDefinition(name=one["Name"], regex=one["Regex"])
                for one in metric_definitions()
            ],
        ),
        "hyper_parameters": job.hyperparameters,
        "input_data_config": [
            # Usual: the same distribution, from a prefix that may lack its slash.
            _channel(TRAIN_CHANNEL, job.data_uri, distribution="ShardedByS3Key"),
            # Usual: none. Every host measures on the same data, hence replicated.
            _channel(VALIDATION_CHANNEL, job.data_uri, distribution="FullyReplicated"),
        ],
        "output_data_config": OutputDataConfig(
            s3_output_path=f"s3://{job.bucket}/executions/{job.name}/train",
            # Usual: none, and a bucket policy that demands the right key refuses the model.
            **({"kms_key_id": job.key_arn} if job.key_arn else {}),
        ),
        # Usual: none, and the work is lost when the job is stopped.
        "checkpoint_config": CheckpointConfig(s3_uri=f"s3://{job.bucket}/checkpoints/{job.name}/"),
        "resource_config": ResourceConfig(
            instance_type=job.instance_type,
            instance_count=job.instance_count,
            volume_size_in_gb=100,
        ),
        "stopping_condition": StoppingCondition(max_runtime_in_seconds=job.max_runtime_s),
        # Usual: off. Then code in the container may use the role and send data anywhere.
        "enable_network_isolation": True,
        # The SDK has two classes named Tag, and refuses objects of the one that it exports.
        **({"tags": _tags(job)} if job.tags else {}),
    }


def submit(job: Submission, session: boto3.Session | None = None) -> str:
    """Send the request.

    Args:
        job: what is trained.
        session: account and region; None: boto3's usual ones.

    Returns:
        The job's ARN.

    Raises:
        botocore.exceptions.ClientError: SageMaker refuses it.
    """
    created = TrainingJob.create(**request(job), session=session)
    return str(created.training_job_arn)


def _tags(job: Submission) -> list[dict[str, str]]:
    return [{"key": key, "value": value} for key, value in job.tags.items()]


def _channel(name: str, data_uri: str, *, distribution: str) -> Channel:
    return Channel(
        channel_name=name,
        data_source=DataSource(
            s3_data_source=S3DataSource(
                s3_data_type="S3Prefix",
                s3_uri=f"{data_uri}{name}/",
                s3_data_distribution_type=distribution,
            )
        ),
    )


def _bucket(given: str) -> str:
    if not re.fullmatch(r"[a-z0-9][a-z0-9.-]*", given):
        raise argparse.ArgumentTypeError(f"{given!r}: give the bucket's name alone, my-bucket say")
    return given


def _positive(given: str) -> int:
    if not given.isdecimal() or int(given) < 1:
        raise argparse.ArgumentTypeError(f"{given!r}: give a whole number, 1 or more")
    return int(given)


def _pairs(parser: argparse.ArgumentParser, option: str, given: Sequence[str]) -> dict[str, str]:
    pairs = [one.partition("=") for one in given]
    if wrong := [name for name, sign, _ in pairs if not (name and sign)]:
        parser.error(f"{option} {wrong[0]}: give NAME=VALUE, epochs=10 for instance")
    return {name: value for name, _, value in pairs}


def parsed(arguments: Sequence[str]) -> Submission:
    """The job that a command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--image", required=True, help="URI of the training image in Amazon ECR")
    parser.add_argument("--role", required=True, help="ARN of the job's role")
    parser.add_argument(
        "--bucket", required=True, type=_bucket, help="holds data, and takes what the job writes"
    )
    parser.add_argument("--key", help="ARN of the key that encrypts the model; else S3's own")
    parser.add_argument("--data", help="s3://... above train/ and validation/; BUCKET's data/")
    parser.add_argument("--framework", choices=FRAMEWORKS, default=PYTORCH)
    parser.add_argument("--instance-type", default="ml.g5.12xlarge")
    parser.add_argument(
        "--instance-count", type=_positive, default=2, help="hosts; at most the shards"
    )
    parser.add_argument("--max-runtime-s", type=_positive, default=86_400, help="seconds")
    parser.add_argument(
        "--hyperparameter", action="append", default=[], metavar="NAME=VALUE", help="repeat it"
    )
    parser.add_argument(
        "--tag", action="append", default=[], metavar="NAME=VALUE", help="of the job; repeat it"
    )
    given = parser.parse_args(arguments)
    if empty := [one for one in given.tag if one.endswith("=")]:
        parser.error(f"--tag {empty[0]}: the SDK leaves empty values out. Give NAME=VALUE")
    data_uri = given.data or f"s3://{given.bucket}/data/"
    return Submission(
        name=f"{NAME_START}-{datetime.now(UTC):%Y%m%d-%H%M%S}",
        framework=given.framework,
        image_uri=given.image,
        role_arn=given.role,
        bucket=given.bucket,
        key_arn=given.key,
        data_uri=data_uri if data_uri.endswith("/") else f"{data_uri}/",
        instance_type=given.instance_type,
        instance_count=given.instance_count,
        max_runtime_s=given.max_runtime_s,
        hyperparameters=_pairs(parser, "--hyperparameter", given.hyperparameter),
        tags=_pairs(parser, "--tag", given.tag),
    )


def main(arguments: Sequence[str]) -> None:
    """Submit, and print the job's ARN."""
    try:
        print(submit(parsed(arguments)))
    except (ClientError, BotoCoreError) as error:
        sys.exit(f"Not submitted: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
