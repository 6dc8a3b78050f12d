"""The text inside a gzip or zstd shard, read from its start on."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

import pyarrow as pa

from training.records.errors import RecordError
from training.records.reading import PIECE_BYTES, changed, open_shard
from training.records.shards import Shard

_CODECS = {".gz": "gzip", ".zst": "zstd"}


class TextStream:
    """What a compressed shard holds, going forward only.

    Attributes:
        position: Bytes of text read so far.
    """

    def __init__(self, shard: Shard) -> None:
        """Open a shard.

        Raises:
            RecordError: It cannot be opened, its size is not the listed one, or its name does not
                tell how it is compressed.
        """
        codec = next((c for end, c in _CODECS.items() if shard.name.lower().endswith(end)), None)
        if codec is None:
            raise RecordError(
                f"{shard.name}: the names of compressed shards end in {', '.join(_CODECS)}. Rename"
                " it, or compress it in one of these ways."
            )
        with open_shard(shard):
            pass
        self._shard = shard
        self._stream = pa.CompressedInputStream(pa.OSFile(str(shard.path)), codec)
        self.position = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the shard."""
        self._stream.close()

    def read(self, size: int) -> bytes:
        """Read up to `size` bytes, fewer only at the end.

        Raises:
            RecordError: The shard is cut or damaged.
        """
        pieces = []
        while size > 0 and (piece := self._read_some(min(size, PIECE_BYTES))):
            pieces.append(piece)
            size -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def read_into(self, buffer: memoryview) -> int:
        """Fill a buffer; return how many bytes of it, fewer than all only at the end.

        Raises:
            RecordError: The shard is cut or damaged.
        """
        filled = 0
        while filled < len(buffer):
            with buffer[filled:] as rest, self._refusing_damage():
                read = self._stream.readinto(rest)
            if not read:
                break
            filled += read
            self.position += read
        return filled

    def pieces(self) -> Iterator[bytes]:
        """Read the rest, in pieces.

        Raises:
            RecordError: The shard is cut or damaged.
        """
        while piece := self._read_some(PIECE_BYTES):
            yield piece

    def skip(self, size: int) -> None:
        """Read `size` bytes for nothing.

        Raises:
            RecordError: There are fewer.
        """
        while size > 0:
            piece = self._read_some(min(size, PIECE_BYTES))
            if not piece:
                raise self.ended()
            size -= len(piece)

    def ended(self) -> RecordError:
        """Make the error for a text that is shorter than when it was indexed."""
        return changed(self._shard, f"its text ends at byte {self.position} now")

    def _read_some(self, size: int) -> bytes:
        with self._refusing_damage():
            piece: bytes = self._stream.read(size)
        self.position += len(piece)
        return piece

    @contextmanager
    def _refusing_damage(self) -> Iterator[None]:
        """Turn what the decompressor raises into an error that names the shard."""
        try:
            yield
        except (OSError, pa.ArrowException) as error:
            raise RecordError(
                f"{self._shard.name} cannot be decompressed beyond byte {self.position} of its text"
                f" ({error}). It may have been cut or changed on its way: compress it again, and"
                " upload it whole."
            ) from error


def locate_in_text(shard: Shard, offset_bytes: int) -> str:
    """Say where a byte of the text lies for a person: "part-00003.txt.gz, line 17"."""
    newlines = 0
    with TextStream(shard) as stream:
        while stream.position < offset_bytes:
            piece = stream.read(min(PIECE_BYTES, offset_bytes - stream.position))
            if not piece:
                raise stream.ended()
            newlines += piece.count(b"\n")
    return f"{shard.name}, line {newlines + 1}"
