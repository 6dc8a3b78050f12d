"""What a pipeline runs on."""

from dataclasses import dataclass


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
    job_role_arn: str
    """What training and evaluation jobs run as."""
    preflight_function_arn: str
    model_package_group_name: str

    def data_uri(self, split: str) -> str:
        """Where `train`, `validation` or `test` lies by default."""
        return f"s3://{self.bucket_name}/data/{split}/"

    @property
    def executions_uri(self) -> str:
        """The prefix below which each execution has its own; no slash at its end."""
        return f"s3://{self.bucket_name}/executions"
