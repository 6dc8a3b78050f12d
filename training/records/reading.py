"""Bytes of a shard, with every surprise of the file system turned into an error that names it."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from os import SEEK_SET, fstat

from training.records.errors import RecordError
from training.records.shards import Shard

PIECE_BYTES = 1 << 20
"""Bytes read at a time by whatever goes through a whole shard."""


@contextmanager
def open_shard(shard: Shard) -> Iterator[io.FileIO]:
    """Open `shard` for unbuffered reading.

    Raises:
        RecordError: It cannot be opened, or its size is not the listed one.
    """
    try:
        file = io.FileIO(shard.path, "rb")
    except OSError as error:
        raise RecordError(
            f"{shard.name} cannot be opened ({error.strerror}): it was there, with"
            f" {shard.size_bytes} bytes, when the shards were listed. Shards must stay as they are"
            " while a job runs."
        ) from error
    with file:
        size_bytes = fstat(file.fileno()).st_size
        if size_bytes != shard.size_bytes:
            raise changed(shard, f"it has {size_bytes} bytes now")
        yield file


def fill(file: io.FileIO, shard: Shard, offset_bytes: int, buffer: memoryview) -> None:
    """Fill the whole of `buffer` with the bytes of `shard` from `offset_bytes` on.

    Raises:
        RecordError: The file ends earlier or cannot be read.
    """
    filled = 0
    try:
        file.seek(offset_bytes, SEEK_SET)
        while filled < len(buffer):
            count = file.readinto(buffer[filled:])
            if not count:
                raise changed(shard, f"it ends at byte {offset_bytes + filled} now")
            filled += count
    except OSError as error:
        raise RecordError(
            f"{shard.name} cannot be read at byte {offset_bytes + filled} ({error.strerror})."
            " Check the disk or the mount it lies on."
        ) from error


def changed(shard: Shard, how: str) -> RecordError:
    """Make the error for a shard that is no longer what it was when it was listed."""
    return RecordError(
        f"{shard.name} changed after the shards were listed: it had {shard.size_bytes} bytes,"
        f" {how}. Shards must stay as they are while a job runs: upload complete files, then start"
        " the job."
    )


def locate(shard: Shard, offset_bytes: int) -> str:
    """Say where `offset_bytes` lies for a person: "part-00003.jsonl, line 17".

    Reads the shard up to there, so it is for messages only.
    """
    buffer = bytearray(min(PIECE_BYTES, offset_bytes))
    newlines = 0
    with open_shard(shard) as file:
        for start in range(0, offset_bytes, PIECE_BYTES):
            length = min(PIECE_BYTES, offset_bytes - start)
            fill(file, shard, start, memoryview(buffer)[:length])
            newlines += buffer.count(b"\n", 0, length)
    return f"{shard.name}, line {newlines + 1}"
