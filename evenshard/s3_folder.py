"""Folders on the command line: of this machine, or of S3, `s3://bucket/folder/`."""

from pathlib import Path

from evenshard.errors import UsageError
from training.shards.location import Location


def folder_or_s3(text: str, *, option: str) -> Path | Location:
    """Read a folder of either kind; in S3 with or without its last slash.

    Args:
        text: as it was typed.
        option: its name on the command line, for the message.

    Raises:
        UsageError: nothing at all, or a URI, but of no folder in a bucket.
    """
    if not text:
        raise UsageError(
            f"{option} is empty, an unset variable perhaps. Name a folder; . is this one."
        )
    scheme, separator, rest = text.partition("://")
    if not separator:
        return Path(text)
    try:
        return Location.parse(f"{scheme}://{rest.rstrip('/')}/", parameter=option)
    except ValueError as error:
        raise UsageError(str(error)) from error
