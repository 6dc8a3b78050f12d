"""What the services say of deployed resources."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from evenshard.emulator.server import Emulator
from tests.emulator.deployed import Resource

KINDS: Final = (
    "AWS::CloudWatch::Alarm",
    "AWS::Events::Rule",
    "AWS::IAM::Role",
    "AWS::KMS::Key",
    "AWS::Lambda::Function",
    "AWS::S3::Bucket",
    "AWS::S3::BucketPolicy",
    "AWS::SNS::Topic",
    "AWS::SageMaker::Pipeline",
)
"""The types of resources that are asked about."""


def answers(server: Emulator, kind: str, resources: list[Resource]) -> dict[str, Any]:
    """What the service says of each resource, by physical id."""
    ask = _ASKED[kind]
    return {one.physical_id: ask(server, one.physical_id) for one in resources}


def _ask_bucket(server: Emulator, name: str) -> dict[str, Any]:
    s3 = server.client("s3")
    return {
        "encryption": s3.get_bucket_encryption(Bucket=name)["ServerSideEncryptionConfiguration"],
        "versioning": s3.get_bucket_versioning(Bucket=name).get("Status"),
        "access": s3.get_public_access_block(Bucket=name)["PublicAccessBlockConfiguration"],
        "rules": s3.get_bucket_lifecycle_configuration(Bucket=name)["Rules"],
        "logging": s3.get_bucket_logging(Bucket=name).get("LoggingEnabled"),
    }


def _ask_role(server: Emulator, name: str) -> dict[str, Any]:
    iam = server.client("iam")
    policies = {
        policy: iam.get_role_policy(RoleName=name, PolicyName=policy)["PolicyDocument"]
        for policy in iam.list_role_policies(RoleName=name)["PolicyNames"]
    }
    trust = iam.get_role(RoleName=name)["Role"]["AssumeRolePolicyDocument"]
    return {"trust": trust, "policies": policies}


def _ask_key(server: Emulator, name: str) -> dict[str, Any]:
    kms = server.client("kms")
    return {
        "aliases": [one["AliasName"] for one in kms.list_aliases(KeyId=name)["Aliases"]],
        "rotates": kms.get_key_rotation_status(KeyId=name)["KeyRotationEnabled"],
        "policy": json.loads(kms.get_key_policy(KeyId=name, PolicyName="default")["Policy"]),
    }


def _ask_rule(server: Emulator, name: str) -> dict[str, Any]:
    events = server.client("events")
    rule = events.describe_rule(Name=name)
    return {
        "pattern": json.loads(rule["EventPattern"]),
        "state": rule["State"],
        "targets": events.list_targets_by_rule(Rule=name)["Targets"],
    }


_ASKED: Final[Mapping[str, Callable[[Emulator, str], Any]]] = {
    "AWS::CloudWatch::Alarm": lambda server, name: server.client("cloudwatch").describe_alarms(
        AlarmNames=[name]
    )["MetricAlarms"][0],
    "AWS::Events::Rule": _ask_rule,
    "AWS::IAM::Role": _ask_role,
    "AWS::KMS::Key": _ask_key,
    "AWS::Lambda::Function": lambda server, name: server.client("lambda").get_function(
        FunctionName=name
    )["Configuration"],
    "AWS::S3::Bucket": _ask_bucket,
    "AWS::S3::BucketPolicy": lambda server, name: json.loads(
        server.client("s3").get_bucket_policy(Bucket=name)["Policy"]
    ),
    "AWS::SNS::Topic": lambda server, name: server.client("sns").get_topic_attributes(
        TopicArn=name
    )["Attributes"],
    "AWS::SageMaker::Pipeline": lambda server, name: server.client("sagemaker").describe_pipeline(
        PipelineName=name
    ),
}
