"""The headers of a tar archive: which members it has and where their content lies.

Knows ustar, PAX, GNU and the format before them. A member is a regular file; folders carry nothing
and are passed over; links and devices are refused, since they would be samples without content.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from training.records.errors import RecordError
from training.records.shards import Shard

UNIT_BYTES = 512
"""Headers take one unit each, and contents are filled up to whole ones."""

_END = bytes(UNIT_BYTES)
_REGULAR = frozenset((b"0", b"\0", b"7"))
_FOLDER = b"5"
_LONG_NAME = b"L"
_LONG_LINK = b"K"
_PAX = frozenset((b"x", b"X"))
_PAX_GLOBAL = b"g"
_KINDS = {
    b"1": "a hard link",
    b"2": "a symbolic link",
    b"3": "a character device",
    b"4": "a block device",
    b"6": "a pipe",
    b"S": "a sparse file",
}
_MOST_EXTENSION_BYTES = 1 << 20
"""Of a long name or of PAX records; more is no name but damage."""

ReadBytes = Callable[[int, int], bytes]
"""Offset and size in, that many bytes of the archive out; raises where it is shorter."""


class Member(NamedTuple):
    """A regular file of the archive."""

    name: bytes
    start: int
    """Where its first header starts: that of a long name, where there is one."""
    content_start: int
    content_stop: int
    stop: int
    """Where the next member's first header starts."""


class Walk:
    """Goes from header to header; reads nothing else."""

    __slots__ = ("_checked", "_offset", "_read", "_shard", "_stop", "_unchecked")

    def __init__(
        self, shard: Shard, read: ReadBytes, *, start: int, stop: int, check: bool
    ) -> None:
        """Set where to go.

        Args:
            shard: For messages.
            read: Gives bytes of the archive.
            start: Where a member's first header starts.
            stop: Where the archive, or the part of it, ends.
            check: Compare the headers' checksums, and expect the marker of an archive's end.
        """
        self._shard = shard
        self._read = read
        self._offset = start
        self._stop = stop
        self._checked = check
        self._unchecked: list[bytes] = []

    def members(self) -> Iterator[Member]:
        """Yield the members.

        Raises:
            RecordError: The archive is cut or damaged, or holds what is no sample's part.
        """
        name, size, start = b"", -1, self._offset
        while (header := self._header()) is not None:
            kind = header[156:157]
            content_start = self._offset + UNIT_BYTES
            length = size if size >= 0 and kind in _REGULAR else self._size(header)
            content_stop = content_start + length
            self._offset = content_stop + -length % UNIT_BYTES
            if content_stop > self._stop:
                raise self._cut(f"{_name(header)!r} should go on to byte {content_stop}")
            if kind in _REGULAR:
                member_name = name or _name(header)
                if not member_name.endswith(b"/"):
                    yield Member(member_name, start, content_start, content_stop, self._offset)
            elif kind in _PAX:
                name, size = self._pax(content_start, length, name, size)
                continue
            elif kind == _LONG_NAME:
                name = self._extension(content_start, length).rstrip(b"\0")
                continue
            elif kind == _LONG_LINK:
                continue
            elif kind == _PAX_GLOBAL:
                self._check_global(content_start, length)
            elif kind != _FOLDER:
                raise self._refused(name or _name(header), kind)
            name, size, start = b"", -1, self._offset

    def _header(self) -> bytes | None:
        """Return the next header, None at the end."""
        if self._offset + UNIT_BYTES > self._stop:
            if self._checked or self._offset != self._stop:
                raise self._cut("it has no end-of-archive marker")
            return None
        header = self._read(self._offset, UNIT_BYTES)
        if self._checked:
            if header == _END:
                self._check_sums()
                return None
            self._unchecked.append(header)
            # Many at once: one by one they would cost more than everything else here.
            if len(self._unchecked) == 1024:  # noqa: PLR2004 - any number would do
                self._check_sums()
        return header

    @property
    def offset(self) -> int:
        """Where the walk stands; after `members`, where the marker of the archive's end starts."""
        return self._offset

    def _check_sums(self) -> None:
        """Compare the sums of the headers that wait for it with what they say.

        Raises:
            RecordError: One differs.
        """
        waiting, self._unchecked = self._unchecked, []
        headers = np.frombuffer(b"".join(waiting), np.uint8).reshape(-1, UNIT_BYTES)
        told = np.array([_number(header[148:156]) for header in waiting], np.int64)
        # The sum counts its own field as spaces.
        sums = headers.sum(axis=1, dtype=np.int64) - headers[:, 148:156].sum(axis=1, dtype=np.int64)
        wrong = np.flatnonzero(sums + 8 * ord(" ") != told)
        if len(wrong):
            raise damaged(
                self._shard, f"the header of {_name(waiting[wrong[0]])!r} has a wrong checksum"
            )

    def _size(self, header: bytes) -> int:
        """Return the size of a member's content.

        Raises:
            RecordError: It is none.
        """
        try:
            size = int(header[124:135], 8)
        except ValueError:
            size = _number(header[124:136])
        if size < 0:
            self._check_sums()
            raise damaged(
                self._shard, f"what stands at byte {self._offset} is no header of a member"
            )
        return size

    def _extension(self, start: int, length: int) -> bytes:
        """Return the content of a header that describes the member behind it."""
        if length > _MOST_EXTENSION_BYTES:
            raise damaged(self._shard, f"a name of {length} bytes at byte {start}")
        return self._read(start, length)

    def _pax(self, start: int, length: int, name: bytes, size: int) -> tuple[bytes, int]:
        """Return name and size of the member to come, where PAX records tell them."""
        records = self._pax_records(start, length)
        if any(key.startswith(b"GNU.sparse") for key in records):
            raise self._refused(records.get(b"GNU.sparse.name", b"?"), b"S")
        told = records.get(b"size", b"%d" % size)
        if not told.lstrip(b"-").isdigit():
            raise damaged(self._shard, f"a member of size {told!r} at byte {start}")
        return records.get(b"path", name), int(told)

    def _check_global(self, start: int, length: int) -> None:
        """Refuse records for all members that would rename or resize each of them."""
        for key in self._pax_records(start, length):
            if key in (b"path", b"size"):
                raise damaged(self._shard, f"one {key.decode()} for all members at byte {start}")

    def _pax_records(self, start: int, length: int) -> dict[bytes, bytes]:
        r"""Parse PAX records: "length key=value\n" each, the length being that of all of it."""
        content = self._extension(start, length)
        records: dict[bytes, bytes] = {}
        while content.strip(b"\0"):
            told, _, _ = content.partition(b" ")
            stop = int(told) if told.isdigit() and len(told) < 10 else 0  # noqa: PLR2004 - digits
            record = content[len(told) + 1 : stop - 1]
            key, equals, value = record.partition(b"=")
            if not equals or content[stop - 1 : stop] != b"\n":
                raise damaged(self._shard, f"PAX records that cannot be read at byte {start}")
            records[key] = value
            content = content[stop:]
        return records

    def _refused(self, name: bytes, kind: bytes) -> RecordError:
        self._check_waiting()
        what = _KINDS.get(kind, f"of the unknown type {kind!r}")
        return RecordError(
            f"{self._shard.name}: the member {shown(name)} is {what}, not a regular file. Write the"
            " files themselves (GNU tar: --dereference --hard-dereference, without --sparse)."
        )

    def _cut(self, how: str) -> RecordError:
        self._check_waiting()
        return damaged(self._shard, f"it ends at byte {self._stop}, but {how}")

    def _check_waiting(self) -> None:
        """Say first what came first: a damaged header leads to any other error."""
        if self._unchecked:
            self._check_sums()


def damaged(shard: Shard, problem: str) -> RecordError:
    """Make the error for an archive that cannot be read to its end."""
    return RecordError(
        f"{shard.name} is no whole tar archive: {problem}. It may have been cut or changed on its"
        " way: write it again, close it, and upload it whole."
    )


def shown(name: bytes) -> str:
    """Return a member's name for a message."""
    return repr(name.decode(errors="backslashreplace"))


def _name(header: bytes) -> bytes:
    name = header[:100].partition(b"\0")[0]
    # GNU keeps other things where ustar keeps the folders of a long name.
    if header[345] and header[257:263] == b"ustar\0":
        return header[345:500].partition(b"\0")[0] + b"/" + name
    return name


def _number(field: bytes) -> int:
    """Parse a number: octal digits, or with the first bit set its bytes; -1: it is none."""
    if field[0] & 0x80:
        return int.from_bytes(field, "big") & ((1 << (8 * len(field) - 1)) - 1)
    digits = field.partition(b"\0")[0].strip()
    try:
        return int(digits or b"0", 8)
    except ValueError:
        return -1
