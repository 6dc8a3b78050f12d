"""Well-formed physical names for the resources of a template, by resource type.

Nothing is deployed, so every name is made up: from the template where it gives one, else from the
logical id. Equal templates give equal names.
"""

import hashlib
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from evenshard.simulator.errors import DefinitionError

PARTITION: Final = "aws"
REGION: Final = "us-east-1"
ACCOUNT: Final = "123456789012"
"""Also the one that all requests to the emulator belong to, whatever their credentials."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Whose resources these are, and where: what their ARNs begin with."""

    partition: str = PARTITION
    region: str = REGION
    account: str = ACCOUNT

    def arn(self, service: str, name: str) -> str:
        """The ARN of a resource here; `name` is what follows the account."""
        return f"arn:{self.partition}:{service}:{self.region}:{self.account}:{name}"


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource of one stack, as far as names go."""

    logical_id: str
    stack: str
    properties: Mapping[str, Any]

    def name(self, key: str, *, longest: int = 64) -> str:
        """The name that property `key` gives, else one made of the logical id."""
        given = self.properties.get(key)
        return given if isinstance(given, str) else f"local-{self.logical_id}"[:longest]

    def digest(self, digits: int) -> str:
        """Hexadecimal digits that only this resource has."""
        text = f"{self.stack}/{self.logical_id}".encode()
        return hashlib.sha256(text).hexdigest()[:digits]

    def bucket(self) -> str:
        """A legal bucket name, different in every stack."""
        given = self.properties.get("BucketName")
        if isinstance(given, str):
            return given
        return f"local-{self.logical_id[:40].lower()}-{self.digest(8)}"

    def uuid(self) -> str:
        """A name in the form of a UUID, as KMS gives keys."""
        digits = self.digest(32)
        cuts = (0, 8, 12, 16, 20, 32)
        return "-".join(digits[a:b] for a, b in itertools.pairwise(cuts))


_Maker = Callable[[Resource], str]


def _arn(service: str, name: _Maker, *, region: str = REGION, account: str = ACCOUNT) -> _Maker:
    return lambda resource: f"arn:{PARTITION}:{service}:{region}:{account}:{name(resource)}"


def _named(key: str) -> _Maker:
    return lambda resource: resource.name(key)


def _prefixed(prefix: str, maker: _Maker) -> _Maker:
    return lambda resource: f"{prefix}{maker(resource)}"


def _id(prefix: str) -> _Maker:
    return lambda resource: f"{prefix}-{resource.digest(17)}"


_BUCKET_ARN = _arn("s3", Resource.bucket, region="", account="")
_ROLE_ARN = _arn("iam", _prefixed("role/", _named("RoleName")), region="")
_FUNCTION_ARN = _arn("lambda", _prefixed("function:", _named("FunctionName")))
_KEY_ARN = _arn("kms", _prefixed("key/", Resource.uuid))
_GROUP_ARN = _arn(
    "sagemaker",
    lambda resource: f"model-package-group/{resource.name('ModelPackageGroupName').lower()}",
)
_TOPIC_ARN = _arn("sns", _named("TopicName"))
_QUEUE_ARN = _arn("sqs", _named("QueueName"))
_LOGS_ARN = _arn("logs", lambda resource: f"log-group:{resource.name('LogGroupName')}:*")
_REPOSITORY_ARN = _arn(
    "ecr", lambda resource: f"repository/{resource.name('RepositoryName').lower()}"
)

_REFERENCES: Final[Mapping[str, _Maker]] = {
    "AWS::EC2::SecurityGroup": _id("sg"),
    "AWS::EC2::Subnet": _id("subnet"),
    "AWS::EC2::VPC": _id("vpc"),
    "AWS::ECR::Repository": lambda resource: resource.name("RepositoryName").lower(),
    "AWS::IAM::Role": _named("RoleName"),
    "AWS::KMS::Key": Resource.uuid,
    "AWS::Lambda::Function": _named("FunctionName"),
    "AWS::Logs::LogGroup": _named("LogGroupName"),
    "AWS::S3::Bucket": Resource.bucket,
    "AWS::SNS::Topic": _TOPIC_ARN,
    "AWS::SageMaker::ModelPackageGroup": _GROUP_ARN,
    "AWS::SageMaker::Pipeline": _named("PipelineName"),
}
_ATTRIBUTES: Final[Mapping[tuple[str, str], _Maker]] = {
    ("AWS::EC2::SecurityGroup", "GroupId"): _id("sg"),
    ("AWS::EC2::Subnet", "SubnetId"): _id("subnet"),
    ("AWS::EC2::VPC", "VpcId"): _id("vpc"),
    ("AWS::ECR::Repository", "Arn"): _REPOSITORY_ARN,
    ("AWS::IAM::Role", "Arn"): _ROLE_ARN,
    ("AWS::IAM::Role", "RoleId"): lambda resource: f"AROA{resource.digest(17).upper()}",
    ("AWS::KMS::Key", "Arn"): _KEY_ARN,
    ("AWS::KMS::Key", "KeyId"): Resource.uuid,
    ("AWS::Lambda::Function", "Arn"): _FUNCTION_ARN,
    ("AWS::Logs::LogGroup", "Arn"): _LOGS_ARN,
    ("AWS::S3::Bucket", "Arn"): _BUCKET_ARN,
    ("AWS::SNS::Topic", "TopicArn"): _TOPIC_ARN,
    ("AWS::SNS::Topic", "TopicName"): _named("TopicName"),
    ("AWS::SQS::Queue", "Arn"): _QUEUE_ARN,
    ("AWS::SageMaker::ModelPackageGroup", "ModelPackageGroupArn"): _GROUP_ARN,
}


def reference_of(kind: str, resource: Resource, path: str) -> str:
    """What `Ref` gives for a resource.

    Raises:
        DefinitionError: no value is known for this resource type.
    """
    if kind not in _REFERENCES:
        raise DefinitionError(
            path, _unknown(f"Ref of {resource.logical_id}", kind, sorted(_REFERENCES))
        )
    return _REFERENCES[kind](resource)


def attribute_of(kind: str, attribute: str, resource: Resource, path: str) -> str:
    """What `Fn::GetAtt` gives for a resource.

    Raises:
        DefinitionError: no value is known for this attribute of this resource type.
    """
    maker = _ATTRIBUTES.get((kind, attribute))
    if maker is None:
        known = sorted(f"{a} of {k}" for k, a in _ATTRIBUTES)
        what = f"Fn::GetAtt {resource.logical_id}.{attribute}"
        raise DefinitionError(path, _unknown(what, kind, known))
    return maker(resource)


def _unknown(what: str, kind: str, known: list[str]) -> str:
    return (
        f"{what} ({kind}) has no value here, for nothing is deployed. The simulator knows "
        f"{', '.join(known)}."
    )
