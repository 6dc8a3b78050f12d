"""What a template says of a bucket beyond its encryption: moto 5.2.5 makes the bucket without it.

Source: CloudFormation's AWS::S3::Bucket; the requests of the S3 API that it stands for.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any, Final

from moto.cloudformation.exceptions import ValidationError
from moto.s3.models import FakeBucket, S3Backend, s3_backends
from moto.utilities.utils import get_partition

_BY_MOTO: Final = frozenset({"AccessControl", "BucketEncryption", "BucketName", "Tags"})
_HERE: Final = frozenset(
    {
        "LifecycleConfiguration",
        "LoggingConfiguration",
        "PublicAccessBlockConfiguration",
        "VersioningConfiguration",
    }
)
_RENAMED: Final = frozenset(
    {"ExpirationInDays", "ExpiredObjectDeleteMarker", "Id", "Prefix", "Status"}
)
"""Keys of a lifecycle rule that the request has in another place, or by another name."""
_PRIVATE: Final = "Private"
"""The only AccessControl, which is what a bucket has without one."""


def complete_buckets() -> None:
    """Let CloudFormation's buckets have all that their templates say, or refuse them."""
    # Both are called on the class, so that plain functions do.
    FakeBucket.create_from_cloudformation_json = _created(  # type: ignore[method-assign] # above
        FakeBucket.create_from_cloudformation_json
    )
    FakeBucket.update_from_cloudformation_json = _updated(  # type: ignore[method-assign] # above
        FakeBucket.update_from_cloudformation_json
    )
    FakeBucket.delete_from_cloudformation_json = _emptied(  # type: ignore[method-assign] # above
        FakeBucket.delete_from_cloudformation_json
    )


def _created(make: Callable[..., FakeBucket]) -> Callable[..., FakeBucket]:
    @functools.wraps(make)
    def create(
        resource_name: str, resource: dict[str, Any], account: str, region: str, **named: object
    ) -> FakeBucket:
        properties = resource.get("Properties", {})
        _check(properties)
        bucket = make(resource_name, resource, account, region, **named)
        _apply(s3_backends[account][get_partition(region)], bucket.name, properties)
        return bucket

    return create


def _updated(change: Callable[..., FakeBucket]) -> Callable[..., FakeBucket]:
    @functools.wraps(change)
    def update(
        *, cloudformation_json: dict[str, Any], account_id: str, region_name: str, **named: object
    ) -> FakeBucket:
        properties = cloudformation_json.get("Properties", {})
        _check(properties)
        bucket = change(
            cloudformation_json=cloudformation_json,
            account_id=account_id,
            region_name=region_name,
            **named,
        )
        backend = s3_backends[account_id][get_partition(region_name)]
        _apply(backend, bucket.name, properties)
        return bucket

    return update


def _emptied(remove: Callable[..., None]) -> Callable[..., None]:
    """Delete no bucket that holds anything, and say so: moto leaves it there without a word."""

    @functools.wraps(remove)
    def delete(name: str, template: object, account_id: str, region_name: str) -> None:
        remove(name, template, account_id, region_name)
        if name in s3_backends[account_id][get_partition(region_name)].buckets:
            raise ValidationError(message=f"The bucket {name} is not empty. Empty it first.")

    return delete


def _check(properties: Mapping[str, Any]) -> None:
    unknown = sorted(properties.keys() - _BY_MOTO - _HERE)
    if unknown:
        problem = (
            f"The emulator's AWS::S3::Bucket has no {', '.join(unknown)}. Add it to "
            "evenshard/emulator/cloudformation/buckets.py, or deploy without it."
        )
        raise ValidationError(message=problem)
    if properties.get("AccessControl", _PRIVATE) != _PRIVATE:
        raise ValidationError(message=f"The emulator's buckets are {_PRIVATE} or have a policy.")


def _apply(backend: S3Backend, name: str, properties: Mapping[str, Any]) -> None:
    versioning = properties.get("VersioningConfiguration", {}).get("Status")
    if versioning:
        backend.put_bucket_versioning(name, versioning)
    access = properties.get("PublicAccessBlockConfiguration")
    if access:
        backend.put_public_access_block(
            name, {key: str(value).lower() for key, value in access.items()}
        )
    rules = properties.get("LifecycleConfiguration", {}).get("Rules")
    if rules:
        backend.put_bucket_lifecycle(name, [_rule(rule) for rule in rules])
    logging = properties.get("LoggingConfiguration")
    if logging:
        # Not by the request: it wants the other bucket's policy, which may not be there yet.
        backend.get_bucket(name).logging = {
            "TargetBucket": logging.get("DestinationBucketName", name),
            "TargetPrefix": logging.get("LogFilePrefix", ""),
        }


def _rule(given: Mapping[str, Any]) -> dict[str, Any]:
    """A lifecycle rule as the request has it."""
    rule: dict[str, Any] = {"Status": given["Status"], "Filter": {"Prefix": given.get("Prefix")}}
    if "Id" in given:
        rule["ID"] = given["Id"]
    if "ExpirationInDays" in given:
        rule["Expiration"] = {"Days": given["ExpirationInDays"]}
    if "ExpiredObjectDeleteMarker" in given:
        # S3 refuses it beside a number of days, and so does moto.
        marker = str(given["ExpiredObjectDeleteMarker"]).lower()
        rule.setdefault("Expiration", {})["ExpiredObjectDeleteMarker"] = marker
    for name in ("NoncurrentVersionExpiration", "AbortIncompleteMultipartUpload"):
        if name in given:
            rule[name] = given[name]
    unknown = given.keys() - _RENAMED - rule.keys()
    if unknown:
        problem = f"The emulator's lifecycle rules have no {', '.join(sorted(unknown))}."
        raise ValidationError(message=problem)
    return rule
