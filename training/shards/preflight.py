"""The Preflight step: refuse bad data, and bad numbers, before any GPU starts.

A Lambda function of the pipeline. It only reads listings, so running it twice changes nothing.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from training.contract.shard_names import ShardNameError, format_of, refusal
from training.shards.balance import Balance, balance, starvation
from training.shards.listing import Listing, StoredObject
from training.shards.request import PreflightError, PreflightRequest, Source

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

REFUSED = "Preflight refused the execution"
"""Starts the log line of a refusal; an alarm looks for it."""

_NOT_OURS = ("AccessDenied", "AllAccessDisabled", "NoSuchBucket")
_ELSEWHERE = (
    "The data must lie below data/ in this deployment's own bucket (output DataBucketName of the "
    "storage stack). Copy it there, or let the roles in infra/preflight.py and infra/access/ read "
    "the other place and use its key."
)
_AGAIN = "That is no fault of the data: start the execution again."

_log = logging.getLogger("evenshard.preflight")
_log.setLevel(logging.INFO)


def preflight(event: Mapping[str, Any], list_objects: ListObjects) -> dict[str, str | int]:
    """Judge the data and the numbers of one execution.

    Args:
        event: `train_data_uri`, `validation_data_uri`, `test_data_uri`, `instance_count`,
            `allow_empty_hosts` ("true" or "false"), `epochs`, `batch_size`, `learning_rate`,
            `seed`, `quality_threshold`; `program` where a script of the user's trains,
            `data_format` where the shards' format is named, `task` where it is not text.
        list_objects: lists a store.

    Returns:
        The step's outputs: `data_digest` of the training data (hexadecimal), `object_count`,
        `total_bytes`, `objects_without_data`, `hosts_without_data`.

    Raises:
        PreflightError: what was found, what is allowed, what to do.
    """
    request = PreflightRequest.from_event(event)
    found = balance(_listing(request.train, list_objects), request.host_count)
    problems = list(_problems(request.train, found.listing, "shards"))
    problems.extend(_starvation(found, allow_empty_hosts=request.allow_empty_hosts))
    for source in (request.validation, request.test):
        listing = _listing(source, list_objects)
        problems.extend(_problems(source, listing, "data"))
        _warn(listing, "They are skipped.")
    if problems:
        raise PreflightError(" ".join(problems))
    _warn(found.listing, "SageMaker deals them out like shards, which unbalances the hosts.")
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
        _log.error("%s: %s", REFUSED, error)
        raise
    _log.info("Preflight accepted the data: %s", outputs)
    return outputs


def _listing(source: Source, list_objects: ListObjects) -> Listing:
    location = source.location
    return Listing.of(location, list_objects(location.bucket, location.prefix), source.task)


def _problems(source: Source, listing: Listing, wanted: str) -> Iterator[str]:
    """Say what no trainer could do with a data set, whoever gets which part of it."""
    if not listing.shard_count:
        without_data = listing.words_without_data()
        only = f", only {without_data}" if without_data else ""
        yield (
            f"No {wanted} under {listing.location}{only}. "
            f"Write some (evenshard data) or set {source.parameter}."
        )
    if source.any_name:
        return
    if listing.unreadable:
        yield refusal(listing.names_of(listing.unreadable), str(listing.location), source.task)
        return
    try:
        format_of(listing.names_of(listing.shards))
    except ShardNameError as error:
        yield f"Below {listing.location}: {error}"


def _starvation(found: Balance, *, allow_empty_hosts: bool) -> Iterator[str]:
    hungry = starvation(found) if found.listing.shard_count else None
    if hungry and allow_empty_hosts:
        _log.warning("Allowed by AllowEmptyHosts=true: %s", hungry)
    elif hungry:
        yield hungry


def _warn(listing: Listing, effect: str) -> None:
    if listing.without_data and listing.shard_count:
        _log.warning(
            "%s holds %s. %s %s",
            listing.location,
            listing.words_without_data(),
            effect,
            listing.cleaning(),
        )


def _outputs(found: Balance) -> dict[str, str | int]:
    listing = found.listing
    return {
        "data_digest": listing.data_digest,
        "object_count": len(listing.objects),
        "total_bytes": listing.total_bytes,
        "objects_without_data": len(listing.without_data),
        "hosts_without_data": len(found.starving_hosts),
    }


def _list_s3() -> ListObjects:
    """Make a lister over S3."""
    # Only the Lambda function has a use, and credentials, for it.
    import boto3  # noqa: PLC0415 - everything else here is standard library
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - the same

    pages = boto3.client("s3").get_paginator("list_objects_v2")

    def list_objects(bucket: str, prefix: str) -> Iterator[StoredObject]:
        try:
            for page in pages.paginate(Bucket=bucket, Prefix=prefix):
                for entry in page.get("Contents", ()):
                    yield StoredObject(
                        entry["Key"], entry["Size"], entry.get("ETag", "").strip('"')
                    )
        except (ClientError, BotoCoreError) as error:
            raise PreflightError(f"Cannot list s3://{bucket}/{prefix}: {_reason(error)}") from error

    return list_objects


def _reason(error: Exception) -> str:
    """Why S3 lists nothing, and what to do."""
    response: Mapping[str, Any] = getattr(error, "response", {})
    if not response:  # it never got there
        return f"{error}. {_AGAIN}"
    code = response.get("Error", {}).get("Code", "unknown error")
    return f"{code}. {_ELSEWHERE if code in _NOT_OURS else _AGAIN}"
