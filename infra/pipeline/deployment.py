"""What a pipeline runs on."""

from dataclasses import dataclass

# Folders of the data bucket
DATA_FOLDER = "data"
EXECUTIONS_FOLDER = "executions"
"""Holds one folder for each execution, named by its id."""

# Folders of one execution
TRAINING_FOLDER = "train"
EVALUATION_FOLDER = "evaluation"


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

    def data_uri(self, split: str) -> str:
        """Where `train`, `validation` or `test` lies by default."""
        return f"s3://{self.bucket_name}/{DATA_FOLDER}/{split}/"

    @property
    def executions_uri(self) -> str:
        """The prefix below which each execution has its own; no slash at its end."""
        return f"s3://{self.bucket_name}/{EXECUTIONS_FOLDER}"
