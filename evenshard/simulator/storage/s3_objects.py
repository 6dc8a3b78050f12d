"""Objects in S3, or in what stands for it at AWS_ENDPOINT_URL.

The only part of the simulator that talks to AWS; imported where an s3:// URI is given and nowhere
else, for importing the SDK takes longer than most commands do.
"""

from __future__ import annotations  # names of types that only the type checker has

import io
import itertools
from contextlib import closing, suppress
from typing import TYPE_CHECKING, BinaryIO, Final, Protocol

import boto3
import botocore.session
from botocore import exceptions as sdk
from botocore.config import Config

from evenshard.simulator.errors import ServiceError
from evenshard.simulator.storage.objects import split_uri
from evenshard.simulator.storage.service_errors import (
    CONNECT,
    DELETE,
    DOWNLOAD,
    LIST,
    NOT_FOUND,
    UPLOAD,
    code_of,
    explained,
)
from evenshard.simulator.storage.whole_files import written_whole
from training.shards.listing import StoredObject

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import (
        CompletedPartTypeDef,
        CreateMultipartUploadRequestTypeDef,
        GetObjectRequestTypeDef,
        PutObjectRequestTypeDef,
    )

_ATTEMPTS: Final = 5
"""At each request, where AWS_MAX_ATTEMPTS says nothing: about 8 seconds of patience."""
_CONNECT_LIMIT_S: Final = 10
_PART_BYTES: Final = 16 * 1024**2
"""Of an upload: what is held in memory at once. S3 takes 10,000 parts, so 160 GB."""
_CHUNK_BYTES: Final = 1024**2
_BROKEN_OFF: Final = (
    sdk.IncompleteReadError,
    sdk.ResponseStreamingError,
    sdk.ReadTimeoutError,
    sdk.FlexibleChecksumError,
)
"""While the content of an object comes in. The SDK retries requests, not what follows them."""


def open_s3(*, attempts: int | None = None, part_bytes: int = _PART_BYTES) -> S3ObjectStore:
    """The store of the user's own account: credentials, region and endpoint as every AWS tool.

    Args:
        attempts: at each request, 1 or more; None: AWS_MAX_ATTEMPTS, else a few.
        part_bytes: of large uploads, 5 MiB or more.

    Raises:
        ServiceError: the user's AWS settings make no sense.
    """
    with explained(CONNECT, "S3"):
        core = botocore.session.get_session()
        given = attempts or core.get_config_variable("max_attempts") or _ATTEMPTS
        config = Config(
            connect_timeout=_CONNECT_LIMIT_S,
            retries={"mode": "standard", "total_max_attempts": int(given)},
        )
        try:
            client = boto3.Session(botocore_session=core).client("s3", config=config)
        except ValueError as error:  # botocore's word for a URL that is none
            raise ServiceError(
                f"Cannot open S3: {error}. Write AWS_ENDPOINT_URL as http://127.0.0.1:5005, or "
                "unset it."
            ) from error
    return S3ObjectStore(client, part_bytes=part_bytes)


class _Content(Protocol):
    """Of an object, while it comes in."""

    def read(self, amt: int) -> bytes: ...
    def close(self) -> None: ...


class S3ObjectStore:
    """See ObjectStore. Requests are tried again as the client's settings say."""

    def __init__(self, client: S3Client, *, part_bytes: int = _PART_BYTES) -> None:
        """Take a client, and the size of the parts of large uploads: see open_s3."""
        self._client = client
        self._part_bytes = part_bytes

    def list(self, uri: str) -> list[StoredObject]:
        """See ObjectStore. All pages of a thousand."""
        bucket, prefix = split_uri(uri)
        pages = self._client.get_paginator("list_objects_v2")
        with explained(LIST, uri):
            found = [
                StoredObject(entry["Key"], entry["Size"], entry.get("ETag", "").strip('"'))
                for page in pages.paginate(Bucket=bucket, Prefix=prefix)
                for entry in page.get("Contents", ())
            ]
        return sorted(found, key=lambda stored: stored.key.encode())

    def read(self, uri: str) -> bytes:
        """See ObjectStore."""
        content = io.BytesIO()
        try:
            with explained(DOWNLOAD, uri):
                self._receive(uri, content, None)
        except ServiceError as error:
            if (
                isinstance(error.__cause__, sdk.ClientError)
                and code_of(error.__cause__) in NOT_FOUND
            ):
                raise FileNotFoundError(f"There is no object {uri}.") from error
            raise
        return content.getvalue()

    def download(self, uri: str, file: Path, listed: StoredObject | None = None) -> None:
        """See ObjectStore. What broke off is begun again."""
        with (
            written_whole(file, uri) as unfinished,
            unfinished.open("wb") as content,
            explained(DOWNLOAD, uri),
        ):
            self._receive(uri, content, listed)

    def upload(self, file: Path, uri: str, kms_key: str | None = None) -> None:
        """See ObjectStore. A file that grows meanwhile goes up as it was read, part by part."""
        with file.open("rb") as content, explained(UPLOAD, uri):
            first = content.read(self._part_bytes)
            if len(first) < self._part_bytes:
                self._put(uri, first, kms_key)
            else:
                self._put_parts(uri, itertools.chain([first], self._parts_of(content)), kms_key)

    def delete(self, uri: str) -> None:
        """See ObjectStore. In a bucket with versions the older ones stay."""
        bucket, key = split_uri(uri)
        with explained(DELETE, uri):
            self._client.delete_object(Bucket=bucket, Key=key)

    def exists(self, uri: str) -> bool:
        """See ObjectStore. By a listing: the answer to a HEAD has no words for what is wrong."""
        _, key = split_uri(uri)
        return self._first_key(uri) == key

    def holds(self, uri: str) -> bool:
        """Whether there is any object below a prefix."""
        return self._first_key(uri) is not None

    def local_file(self, uri: str) -> Path | None:
        """See ObjectStore: none of these lies here."""
        del uri
        return None

    def _first_key(self, uri: str) -> str | None:
        """The first key of a listing: of an object of exactly this address, if there is one."""
        bucket, prefix = split_uri(uri)
        with explained(LIST, uri):
            page = self._client.list_objects_v2(Bucket=bucket, Prefix=prefix, MaxKeys=1)
        return next((entry["Key"] for entry in page.get("Contents", ())), None)

    def _receive(self, uri: str, target: BinaryIO, listed: StoredObject | None) -> None:
        """Write the content of an object into a file, from its start again if it breaks off."""
        bucket, key = split_uri(uri)
        request: GetObjectRequestTypeDef = {"Bucket": bucket, "Key": key}
        if listed is not None and listed.etag:
            request["IfMatch"] = f'"{listed.etag}"'
        for attempt in itertools.count(1):
            answer = self._client.get_object(**request)
            target.seek(0)
            target.truncate()
            try:
                with closing(answer["Body"]) as body:
                    written = _copy(body, target)
            except _BROKEN_OFF:
                if attempt == _ATTEMPTS:
                    raise
            else:
                _check_size(uri, written, listed.size_bytes if listed else answer["ContentLength"])
                return

    def _put(self, uri: str, content: bytes, kms_key: str | None) -> None:
        bucket, key = split_uri(uri)
        request: PutObjectRequestTypeDef = {"Bucket": bucket, "Key": key, "Body": content}
        if kms_key is not None:
            request["ServerSideEncryption"] = "aws:kms"
            request["SSEKMSKeyId"] = kms_key
        self._client.put_object(**request)

    def _put_parts(self, uri: str, parts: Iterable[bytes], kms_key: str | None) -> None:
        """Upload in parts, which become an object when all are there; or are thrown away."""
        bucket, key = split_uri(uri)
        request: CreateMultipartUploadRequestTypeDef = {"Bucket": bucket, "Key": key}
        if kms_key is not None:
            request["ServerSideEncryption"] = "aws:kms"
            request["SSEKMSKeyId"] = kms_key
        upload = self._client.create_multipart_upload(**request)["UploadId"]
        try:
            done: list[CompletedPartTypeDef] = []
            for number, part in enumerate(parts, start=1):
                answer = self._client.upload_part(
                    Bucket=bucket, Key=key, UploadId=upload, PartNumber=number, Body=part
                )
                done.append({"ETag": answer["ETag"], "PartNumber": number})
            self._client.complete_multipart_upload(
                Bucket=bucket, Key=key, UploadId=upload, MultipartUpload={"Parts": done}
            )
        except BaseException:
            # What is wrong is said by the first error; left parts cost money until they expire.
            with suppress(sdk.ClientError, sdk.BotoCoreError):
                self._client.abort_multipart_upload(Bucket=bucket, Key=key, UploadId=upload)
            raise

    def _parts_of(self, content: BinaryIO) -> Iterator[bytes]:
        while part := content.read(self._part_bytes):
            yield part


def _copy(body: _Content, target: BinaryIO) -> int:
    """Returns the bytes written."""
    written = 0
    while chunk := body.read(_CHUNK_BYTES):
        written += target.write(chunk)
    return written


def _check_size(uri: str, written: int, expected: int) -> None:
    if written != expected:
        raise ServiceError(
            f"Cannot download {uri}: {written:,} bytes came, and it has {expected:,}. Something "
            "between here and the store changes contents, or the object was replaced: start again."
        )
