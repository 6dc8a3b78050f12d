"""S3 folders on the command line: `s3://bucket/folder/`."""

from typing import Final

from evenshard.errors import UsageError
from training.shards.location import Location

_SCHEME: Final = "s3://"


def s3_folder(text: str, *, option: str) -> Location | None:
    """Read an S3 folder, with or without its last slash.

    Args:
        text: as it was typed.
        option: its name on the command line, for the message.

    Returns:
        None: it is no URI, so a path of this machine.

    Raises:
        UsageError: a URI, but of no folder in a bucket.
    """
    scheme, separator, rest = text.partition("://")
    if not separator:
        return None
    try:
        return Location.parse(f"{scheme}://{rest.rstrip('/')}/", parameter=option)
    except ValueError as error:
        raise UsageError(str(error)) from error
