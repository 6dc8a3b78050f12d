"""The Preflight step: refuse bad data before any GPU starts.

A Lambda function of the pipeline. It only reads listings, so running it twice changes nothing.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from training.shards.balance import (
    Balance,
    StoredObject,
    balance,
    carries_data,
    empty_object_warning,
    shown,
    starvation,
)
from training.shards.location import Location

ListObjects = Callable[[str, str], Iterable[StoredObject]]
"""(bucket, prefix) -> the objects whose keys start with the prefix, in any order."""

OUTPUT_TYPES = {
    "data_digest": "String",
    "object_count": "Integer",
    "total_bytes": "Integer",
    "objects_without_data": "Integer",
    "hosts_without_data": "Integer",
}
"""The step's outputs and their types in the pipeline definition."""

_log = logging.getLogger("evenshard.preflight")
_log.setLevel(logging.INFO)


class PreflightError(Exception):
    """The data cannot feed this training job; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreflightRequest:
    """What the pipeline asks, read from the event."""

    train: Location
    validation: Location
    test: Location
    host_count: int
    """1 or more."""
    allow_empty_hosts: bool

    @classmethod
    def from_event(cls, event: Mapping[str, Any]) -> "PreflightRequest":
        """Read the step's arguments.

        Raises:
            PreflightError: naming every argument that is wrong.
        """
        problems: list[str] = []
        locations = {
            key: _location(event, key, parameter, problems)
            for key, parameter in (
                ("train_data_uri", "TrainDataUri"),
                ("validation_data_uri", "ValidationDataUri"),
                ("test_data_uri", "TestDataUri"),
            )
        }
        host_count = _host_count(event.get("instance_count"), problems)
        allow = str(event.get("allow_empty_hosts", "false")).lower()
        if allow not in ("true", "false"):
            problems.append(f"AllowEmptyHosts is {allow!r}. Allowed: true, false.")
        train, validation, test = locations.values()
        if problems or train is None or validation is None or test is None:
            raise PreflightError(" ".join(problems))
        return cls(
            train=train,
            validation=validation,
            test=test,
            host_count=host_count,
            allow_empty_hosts=allow == "true",
        )


def preflight(event: Mapping[str, Any], list_objects: ListObjects) -> dict[str, str | int]:
    """Judge the data of one execution.

    Args:
        event: `train_data_uri`, `validation_data_uri`, `test_data_uri`, `instance_count`,
            `allow_empty_hosts` ("true" or "false").
        list_objects: lists a store.

    Returns:
        The step's outputs: `data_digest` of the training data (hexadecimal), `object_count`,
        `total_bytes`, `objects_without_data`, `hosts_without_data`.

    Raises:
        PreflightError: what was found, what is allowed, what to do.
    """
    request = PreflightRequest.from_event(event)
    problems = list(_overlaps(request))
    objects = list(list_objects(request.train.bucket, request.train.prefix))
    found = balance(request.train, objects, request.host_count)
    problems.extend(_train_problems(found, allow_empty_hosts=request.allow_empty_hosts))
    for parameter, location in (
        ("ValidationDataUri", request.validation),
        ("TestDataUri", request.test),
    ):
        stored = list_objects(location.bucket, location.prefix)
        if not any(carries_data(one, location) for one in stored):
            problems.append(
                f"No data under {location}. Write some (evenshard data) or set {parameter}."
            )
    if problems:
        raise PreflightError(" ".join(problems))
    warning = empty_object_warning(found)
    if warning:
        _log.warning("%s", warning)
    return _outputs(found)


def handler(event: Mapping[str, Any], _context: object) -> dict[str, str | int]:
    """Entry point of the Lambda function.

    Raises:
        PreflightError: fails the step, and with it the execution.
    """
    try:
        outputs = preflight(event, _list_s3())
    except PreflightError as error:
        # The console may cut the function's error short; the log line is whole.
        _log.error("Preflight refused the data: %s", error)
        raise
    _log.info("Preflight accepted the data: %s", outputs)
    return outputs


def _location(
    event: Mapping[str, Any], key: str, parameter: str, problems: list[str]
) -> Location | None:
    try:
        return Location.parse(str(event.get(key, "")), parameter=parameter)
    except ValueError as error:
        problems.append(str(error))
        return None


def _host_count(given: object, problems: list[str]) -> int:
    try:
        count = int(str(given))
    except ValueError:
        count = 0
    if count < 1:
        problems.append(f"InstanceCount is {given!r}. Allowed: a whole number, 1 or more.")
    return count


def _overlaps(request: PreflightRequest) -> Iterator[str]:
    for parameter, location in (
        ("ValidationDataUri", request.validation),
        ("TestDataUri", request.test),
    ):
        if request.train.contains(location) or location.contains(request.train):
            yield (
                f"TrainDataUri {request.train} and {parameter} {location} overlap: the model would "
                "be judged on records it has seen. Give each its own folder."
            )


def _train_problems(found: Balance, *, allow_empty_hosts: bool) -> Iterator[str]:
    if not found.shard_count:
        names = [found.location.name_of(stored.key) for stored in found.without_data]
        only = f", only objects without data ({shown(names)})" if names else ""
        yield (
            f"No shards under {found.location}{only}. "
            "Write some (evenshard data) or set TrainDataUri."
        )
        return
    hungry = starvation(found)
    if hungry and allow_empty_hosts:
        _log.warning("Allowed by AllowEmptyHosts=true: %s", hungry)
    elif hungry:
        yield hungry


def _outputs(found: Balance) -> dict[str, str | int]:
    return {
        "data_digest": found.data_digest,
        "object_count": len(found.objects),
        "total_bytes": found.total_bytes,
        "objects_without_data": len(found.without_data),
        "hosts_without_data": len(found.starving_hosts),
    }


def _list_s3() -> ListObjects:
    """Make a lister over S3."""
    # Only the Lambda function has a use, and credentials, for it.
    import boto3  # noqa: PLC0415 - everything else here is standard library
    from botocore.exceptions import ClientError  # noqa: PLC0415 - the same

    pages = boto3.client("s3").get_paginator("list_objects_v2")

    def list_objects(bucket: str, prefix: str) -> Iterator[StoredObject]:
        try:
            for page in pages.paginate(Bucket=bucket, Prefix=prefix):
                for entry in page.get("Contents", ()):
                    yield StoredObject(
                        entry["Key"], entry["Size"], entry.get("ETag", "").strip('"')
                    )
        except ClientError as error:
            code = error.response.get("Error", {}).get("Code", "unknown error")
            raise PreflightError(
                f"Cannot list s3://{bucket}/{prefix}: {code}. The bucket must exist and the "
                "Preflight function's role must be allowed to list it (s3:ListBucket)."
            ) from error

    return list_objects
