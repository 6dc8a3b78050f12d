"""The shards of one host: which files of a channel's directory hold its records."""

import hashlib
import logging
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from training.contract.shard_names import ShardNameError, format_of, is_hidden, listed
from training.records.errors import RecordError

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """One file of records, as it was when it was listed."""

    name: str
    """Path below the channel's directory, separated by "/"."""

    path: Path
    """Where the file lies on this host."""

    size_bytes: int
    """Size when listed, 1 or more; a file that has another size when it is read is refused."""


def find_shards(directory: Path, *, chosen_format: str | None = None) -> tuple[Shard, ...]:
    """List the shards below `directory`, nested ones too.

    Hidden files (any part of the path starts with a dot) and zero-byte files are skipped, with a
    log line for each kind.

    Args:
        directory: A channel's directory; an empty one is a host without data.
        chosen_format: Of the shards, by name; None: by the ending of their names.

    Returns:
        The shards in the order of their names' UTF-8 bytes.

    Raises:
        RecordError: `directory` is not a directory, cannot be read, or holds something that is not
            a file, files with unknown endings or files of several formats.
    """
    if not directory.is_dir():
        raise RecordError(
            f"{directory} is not a directory. A channel's directory exists on every host, empty on"
            " a host without data: check the channel's name."
        )
    shards, empty, refused = [], [], []
    for name in _visible_files(directory):
        path = directory / name
        try:
            status = path.stat()
        except OSError as error:
            raise RecordError(
                f"{name} below {directory} cannot be read ({error.strerror}). Mend or remove it."
            ) from error
        if not stat.S_ISREG(status.st_mode):
            refused.append(name)
        elif status.st_size == 0:
            empty.append(name)
        else:
            shards.append(Shard(name=name, path=path, size_bytes=status.st_size))
    if refused:
        raise RecordError(f"{listed(refused)} below {directory}: not regular files. Remove them.")
    try:
        shared_format(shards, chosen_format)
    except RecordError as error:
        raise RecordError(f"In {directory}: {error}") from None
    if empty:
        logger.warning("skipped zero-byte files below %s: %s", directory, listed(empty))
    return tuple(sorted(shards, key=lambda shard: os.fsencode(shard.name)))


def shared_format(shards: Sequence[Shard], chosen: str | None = None) -> str | None:
    """Find the one format of some shards; None without shards and without a choice.

    Raises:
        RecordError: A name's ending is unknown, or the endings belong to several formats.
    """
    try:
        return format_of([shard.name for shard in shards], chosen)
    except ShardNameError as error:
        raise RecordError(str(error)) from None


def digest_listing(shards: Sequence[Shard]) -> int:
    """Digest the names and sizes of `shards`: equal for equal listings, 63 bits."""
    listing = hashlib.sha256()
    for shard in shards:
        name = os.fsencode(shard.name)
        listing.update(b"%d %d " % (shard.size_bytes, len(name)) + name)
    return int.from_bytes(listing.digest()[:8], "big") >> 1


def _visible_files(directory: Path) -> Iterator[str]:
    """Yield the names below `directory` that are not hidden, links to folders refused."""
    hidden: list[str] = []
    for folder, folder_names, file_names in os.walk(directory, onerror=_refuse_unreadable):
        below = Path(folder).relative_to(directory)
        hidden += [
            (below / name).as_posix() for name in [*folder_names, *file_names] if is_hidden(name)
        ]
        folder_names[:] = [name for name in folder_names if not is_hidden(name)]
        for name in folder_names:
            # os.walk passes over links to folders: what lies behind would be lost silently.
            if Path(folder, name).is_symlink():
                raise RecordError(
                    f"{(below / name).as_posix()} below {directory} is a link to a folder, which is"
                    " not followed. Put the folder itself there."
                )
        yield from ((below / name).as_posix() for name in file_names if not is_hidden(name))
    if hidden:
        logger.warning("skipped hidden files below %s: %s", directory, listed(sorted(hidden)))


def _refuse_unreadable(error: OSError) -> None:
    """Raise for a folder that os.walk would leave out without a word."""
    raise RecordError(
        f"{error.filename} cannot be listed ({error.strerror}). Make it readable."
    ) from error
