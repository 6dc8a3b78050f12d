"""S3 prefixes as pipeline parameters give them."""

import re
from dataclasses import dataclass
from typing import Self

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


@dataclass(frozen=True, slots=True)
class Location:
    """A folder of a bucket: `s3://bucket/prefix/`."""

    bucket: str
    prefix: str
    """Ends with a slash."""

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}"

    @classmethod
    def parse(cls, uri: str, *, parameter: str) -> Self:
        """Read a data URI.

        Args:
            uri: `s3://bucket/prefix/`.
            parameter: the pipeline parameter that holds it, for the message.

        Raises:
            ValueError: not an S3 URI, or no slash at its end.
        """
        scheme, separator, rest = uri.partition("://")
        bucket, _, prefix = rest.partition("/")
        if scheme != "s3" or not separator or not _BUCKET.fullmatch(bucket):
            raise ValueError(
                f"{parameter} is {uri!r}: it must be an S3 folder. "
                "Give it as s3://bucket/folder/, with a slash at its end."
            )
        if not prefix:
            raise ValueError(
                f"{parameter} is {uri!r}, a whole bucket: it must name a folder in it. "
                "Give it as s3://bucket/folder/, with a slash at its end."
            )
        if not prefix.endswith("/"):
            raise ValueError(
                f"{parameter} is {uri!r}: it must end with a slash, because S3 matches a prefix as "
                f"text and SageMaker would read {uri}-old/ as well. Give {uri}/ instead."
            )
        return cls(bucket, prefix)

    def contains(self, other: "Location") -> bool:
        """Whether listing this location lists everything in the other."""
        return self.bucket == other.bucket and other.prefix.startswith(self.prefix)

    def name_of(self, key: str) -> str:
        """A key as seen from this folder; the folder's own marker is called by its last name."""
        name = key.removeprefix(self.prefix)
        return name or f"{self.prefix.rstrip('/').rsplit('/', 1)[-1]}/"

    def uri_of(self, key: str) -> str:
        """The S3 URI of a key in this bucket."""
        return f"s3://{self.bucket}/{key}"
