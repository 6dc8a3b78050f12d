"""Facts for the table of needed rights: actions by purpose, and how ARNs are written."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from evenshard.simulator.deployment.resources import ACCOUNT, REGION
from tests.synth.granted_access import ASSUME, Document, Grant, Templates, conditions

READ_KEY = ("kms:Decrypt",)
WRITE_KEY = ("kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey")
WRITE = ("s3:AbortMultipartUpload", "s3:PutObject")
CHECKPOINTS = (*WRITE, "s3:DeleteObject", "s3:GetObject")
PULL = ("ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer")
LOGS = (
    "logs:CreateLogGroup",
    "logs:CreateLogStream",
    "logs:DescribeLogStreams",
    "logs:PutLogEvents",
)
DESCRIBE_NETWORK = (
    "ec2:DescribeDhcpOptions",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSubnets",
    "ec2:DescribeVpcs",
)
JOBS = {
    "Training": ("TrainingJob", "training-job", "/aws/sagemaker/TrainingJobs"),
    "Processing": ("ProcessingJob", "processing-job", "/aws/sagemaker/ProcessingJobs"),
}
SAGEMAKER = "sagemaker.amazonaws.com"


@dataclass(frozen=True, slots=True)
class Place:
    """A bucket, and a pattern of keys in it."""

    bucket: str
    keys: str

    @property
    def bucket_arn(self) -> str:
        return f"arn:aws:s3:::{self.bucket}"

    @property
    def arn(self) -> str:
        return f"{self.bucket_arn}/{self.keys}"


def keys_of_buckets(templates: Templates) -> dict[str, str]:
    """Bucket name -> the ARN of the key that encrypts it."""
    found = {}
    for resources in templates.values():
        for resource in resources.values():
            if resource["Type"] == "AWS::S3::Bucket":
                [rule] = resource["Properties"]["BucketEncryption"][
                    "ServerSideEncryptionConfiguration"
                ]
                key = rule["ServerSideEncryptionByDefault"].get("KMSMasterKeyID", "")
                found[resource["Arn"].removeprefix("arn:aws:s3:::")] = key
    return found


def of_type(templates: Templates, kind: str) -> Iterator[Document]:
    """The properties of all resources of one type."""
    for resources in templates.values():
        for resource in resources.values():
            if resource["Type"] == kind:
                yield resource["Properties"]


def trust(role: str, service: str, sources: list[str]) -> Grant:
    """A service may be the role, on behalf of these resources of the account."""
    condition: dict[str, Any] = {"StringEquals": {"aws:SourceAccount": ACCOUNT}}
    if sources:
        condition["ArnLike"] = {"aws:SourceArn": sources}
    return Grant(role, ASSUME, service, conditions(condition))


def each(role: str, actions: Sequence[str], resource: str) -> Iterator[Grant]:
    """One grant for each action."""
    for action in actions:
        yield Grant(role, action, resource)


def sagemaker(resource: str) -> str:
    """The ARN of a SageMaker resource."""
    return f"arn:aws:sagemaker:{REGION}:{ACCOUNT}:{resource}"


def ec2(resource: str) -> str:
    """The ARN of an EC2 resource."""
    return f"arn:aws:ec2:{REGION}:{ACCOUNT}:{resource}"


def repository(image: str) -> str:
    """The ARN of the repository in `<account>.dkr.ecr.<region>.<suffix>/<name>:<tag>`."""
    registry, _, name = image.partition("/")
    account, _, _, region = registry.split(".")[:4]
    return f"arn:aws:ecr:{region}:{account}:repository/{re.split('[:@]', name)[0]}"


def top_folder(place: Place) -> Place:
    """Everything below the first folder of the keys."""
    return Place(place.bucket, f"{place.keys.partition('/')[0]}/*")
