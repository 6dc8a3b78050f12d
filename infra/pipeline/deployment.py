"""What a pipeline runs on."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from infra.pipeline.settings import Instances

# Folders of the data bucket
DATA_FOLDER = "data"
EXECUTIONS_FOLDER = "executions"
"""Holds one folder for each execution, named by its id."""

CHECKPOINTS_FOLDER = "checkpoints"
"""The same for checkpoints, which are not kept as long: expiry goes by the start of a key."""

# Folders of one execution
TRAINING_FOLDER = "train"
TENSORBOARD_FOLDER = "tensorboard"
EVALUATION_FOLDER = "evaluation"


def pipeline_name(prefix: str, framework: str) -> str:
    """Of the pipeline of one framework, and of its model package group."""
    return f"{prefix}-{framework}"


def data_uri(bucket_name: str) -> str:
    """Below it lie all data sets."""
    return f"s3://{bucket_name}/{DATA_FOLDER}/"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobNetwork:
    """Where the hosts of jobs are put; each name may be a CDK token."""

    subnet_ids: tuple[str, ...]
    """SageMaker runs a job in one of them."""
    security_group_id: str
    """Lets the hosts of a job reach each other."""

    def vpc_config(self) -> dict[str, list[str]]:
        """The same as the API writes it."""
        return {"SecurityGroupIds": [self.security_group_id], "Subnets": list(self.subnet_ids)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """Names and ARNs of the resources around one pipeline; each may be a CDK token."""

    framework: str
    """One of training.contract.layout.FRAMEWORKS."""
    bucket_name: str
    """Holds the data below data/, and what executions write below executions/."""
    key_arn: str
    """Encrypts the bucket and every output."""
    image_uri: str
    """The image of training and evaluation."""
    training_role_arn: str
    evaluation_role_arn: str
    preflight_function_arn: str
    model_package_group_name: str
    network: JobNetwork | None = None
    """None: SageMaker's own."""
    encrypt_traffic: bool = False
    """Between the hosts of a training job."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """Of every job."""

    def job_tags(self) -> list[dict[str, str]]:
        """The tags as the API writes them."""
        return [{"Key": key, "Value": value} for key, value in self.tags.items()]

    def volume_key(self, instances: Instances) -> dict[str, str]:
        """What encrypts the volumes of these hosts; nothing where they have NVMe disks instead.

        Those are encrypted in hardware, and a key for them is refused. Source: docs/facts.md 2.
        """
        return {"VolumeKmsKeyId": self.key_arn} if instances.have_volumes else {}

    def data_uri(self, split: str) -> str:
        """Where `train`, `validation` or `test` lies by default."""
        return f"{data_uri(self.bucket_name)}{split}/"

    @property
    def executions_uri(self) -> str:
        """The prefix below which each execution has its own; no slash at its end."""
        return f"s3://{self.bucket_name}/{EXECUTIONS_FOLDER}"

    @property
    def checkpoints_uri(self) -> str:
        """The same for checkpoints."""
        return f"s3://{self.bucket_name}/{CHECKPOINTS_FOLDER}"
