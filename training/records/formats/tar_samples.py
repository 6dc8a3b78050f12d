"""The samples of a tar archive, found by walking from member to member."""

import io
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from training.records.errors import RecordError
from training.records.formats.tar_headers import UNIT_BYTES, Member, Walk, shown
from training.records.reading import fill
from training.records.shards import Shard

PIECE_OF_HEADERS_BYTES = 256 << 10
"""Bytes read at a time while small members follow each other."""

HOP_BYTES = 64 << 10
"""Contents as long as this are passed over instead of read."""


class Sample(NamedTuple):
    """One sample of an archive."""

    key: bytes
    endings: list[bytes]
    members: list[Member]


class _Headers:
    """Reads headers, several at a time where the members between them are small."""

    def __init__(self, file: io.FileIO, shard: Shard) -> None:
        self._file = file
        self._shard = shard
        self._start = 0
        self._piece = b""

    def read(self, offset: int, size: int) -> bytes:
        """Return bytes of the archive."""
        begin = offset - self._start
        if begin + size > len(self._piece) or begin < 0:
            hop = begin - len(self._piece)
            ahead = 4 * UNIT_BYTES if hop > HOP_BYTES else PIECE_OF_HEADERS_BYTES
            piece = bytearray(min(max(size, ahead), self._shard.size_bytes - offset))
            fill(self._file, self._shard, offset, memoryview(piece))
            self._start, self._piece, begin = offset, bytes(piece), 0
        return self._piece[begin : begin + size]


def walk_archive(file: io.FileIO, shard: Shard) -> Walk:
    """Walk through a whole archive."""
    read = _Headers(file, shard).read
    return Walk(shard, read, start=0, stop=shard.size_bytes, check=True)


def walk_block(content: memoryview, shard: Shard, start: int, stop: int) -> Walk:
    """Walk through a block that lies at `start` to `stop` of what was read."""
    return Walk(shard, partial(_slice, content), start=start, stop=stop, check=False)


def _slice(content: memoryview, offset: int, size: int) -> bytes:
    return bytes(content[offset : offset + size])


def find_samples(shard: Shard, walk: Walk, passed_over: list[bytes]) -> Iterator[Sample]:
    """Yield the samples.

    Args:
        shard: For messages.
        walk: Goes through their members.
        passed_over: Names of hidden members are put here.

    Raises:
        RecordError: As `Walk.members`; or a member has no ending, or that of another one of its
            sample.
    """
    sample: Sample | None = None
    for member in walk.members():
        name = member.name
        dot = name.find(b".", name.rfind(b"/") + 1)
        key, ending = name[:dot], name[dot + 1 :].lower()
        if sample is None or key != sample.key:
            if _is_hidden(name):
                passed_over.append(name)
                continue
            if dot < 0 or not ending:
                raise _refused(shard, member, "has no ending")
            _check_text(shard, member)
            if sample is not None:
                yield sample
            sample = Sample(key, [], [])
        elif ending in sample.endings or not ending:
            raise _refused(shard, member, "comes twice" if ending else "has no ending")
        sample.endings.append(ending)
        sample.members.append(member)
    if sample is not None:
        yield sample


def _check_text(shard: Shard, member: Member) -> None:
    """Refuse a name that is not UTF-8.

    Raises:
        RecordError: It is not.
    """
    if not member.name.isascii():
        try:
            member.name.decode()
        except UnicodeDecodeError as error:
            raise _refused(shard, member, "is not named in UTF-8") from error


def _is_hidden(name: bytes) -> bool:
    """Whether a part of the path starts with a dot, or the first one with two underscores.

    The latter are WebDataset's notes about a shard, which no reader takes for samples.
    """
    if name.startswith(b"__"):
        return True
    if not name.startswith(b".") and b"/." not in name:
        return False
    return any(part.startswith(b".") and part not in (b".", b"..") for part in name.split(b"/"))


def _refused(shard: Shard, member: Member, how: str) -> RecordError:
    return RecordError(
        f"{shard.name}: the member {shown(member.name)} {how}. The members of a sample are named"
        " key.ending, such as 0017.jpg and 0017.cls, each ending once (capitals do not matter),"
        " and follow each other. Name them so and write the shard again."
    )
