"""What a format of shards offers the loader: blocks to choose from, and the records of some blocks.

A block is the unit that is counted, moved by the shuffle and read. A block owns the records that
start in it, so the blocks of a shard hold each of its records once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from training.records.shards import Shard

OUTPUTS = ("str", "bytes", "packed", "arrow", "records")
"""What the records of a batch can come as; each format offers some of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatSettings:
    """How shards are cut and read; each format looks at what concerns it."""

    block_bytes: int = 128 << 10
    """Bytes of a block of lines or CSV, or what a block of samples should come close to; 1 or
    more."""

    errors: str = "strict"
    """Lines: "strict" refuses bytes that are not UTF-8, "replace" reads them as U+FFFD."""

    columns: tuple[str, ...] | None = None
    """Parquet and CSV: what to read of each record; None: everything."""

    quoted_newlines: bool = False
    """CSV: quoted fields may contain newlines. Every shard is then read once beforehand."""

    def __post_init__(self) -> None:
        if self.block_bytes < 1:
            raise ValueError(f"block_bytes={self.block_bytes}: set it to 1 or more.")
        if self.errors not in ("strict", "replace"):
            raise ValueError(f"errors={self.errors!r}: set it to 'strict' or 'replace'.")


class BlockRef(NamedTuple):
    """A block: `start` to `stop` (exclusive) of one shard, in the format's own unit."""

    shard: Shard
    start: int
    stop: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardIndex:
    """The blocks of one shard."""

    bounds: NDArray[np.int64]
    """Where each block starts and, last, where the last one stops, ascending, in the format's own
    unit: bytes, rows or row groups; shape (blocks + 1,). The same whether counted or not."""

    counts: NDArray[np.int64] | None
    """Records of each block, shape (blocks,); None: not known without reading the shard."""

    sizes: NDArray[np.int64] | None = None
    """Bytes of memory the records of each block take, about; shape (blocks,); None: the
    differences of `bounds`, which are then bytes and, but for a shard's last block, equal."""

    sequential: bool = False
    """Whether a block can only be reached by reading its shard from the start. The blocks of a
    shard then stay together in every order, ascending; the same for all shards of a format."""


class Rows(Protocol):
    """Records in the order in which they are handed out."""

    def __len__(self) -> int: ...

    def slice(self, start: int, stop: int) -> Self:
        """Return the rows `start` to `stop` (exclusive) without copying their content."""
        ...

    def output(self, kind: str) -> Any:  # noqa: ANN401 - by kind
        """Return the content as one of the format's `outputs`.

        Returns:
            "str": list of str; "bytes": list of bytes; "packed": Packed; "arrow": pyarrow.Array or
            pyarrow.Table; "records": list of dict.

        Raises:
            RecordError: A record is damaged: names its shard and place.
        """
        ...

    def locate(self, index: int) -> str:
        """Say where record `index` came from: "part-00003.jsonl, line 17"; for messages only."""
        ...


class Records(Protocol):
    """The records of some blocks, in memory, block after block; immutable."""

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Records of each block that was asked for, 0 included; shape (blocks,)."""
        ...

    def take(self, indices: NDArray[np.int64]) -> Rows:
        """Copy the records with these numbers, in this order, without a Python object per record.

        What it returns holds on to nothing as large as the blocks.
        """
        ...


class ShardFormat(Protocol):
    """How the shards of a channel are cut into blocks and read."""

    @property
    def name(self) -> str:
        """What a user calls it: "json_lines"."""
        ...

    @property
    def outputs(self) -> tuple[str, ...]:
        """Which of OUTPUTS it offers; the first is its default."""
        ...

    @property
    def columns(self) -> str | None:
        """The columns that it has found, all shards alike, in words: "text: string".

        None: it has none, or has indexed no shard yet.
        """
        ...

    def index(self, shard: Shard, *, count: bool) -> ShardIndex:
        """Find the blocks of one shard.

        Args:
            shard: As listed.
            count: Whether to count records where that takes reading the shard. A format that knows
                its counts anyway gives them in either case.

        Raises:
            RecordError: The shard is damaged, or not what it was when it was listed.
        """
        ...

    def read(self, blocks: Sequence[BlockRef]) -> Records:
        """Read some blocks, in this order, with few files open at a time.

        Called from another thread than `index`; two threads never read at once.

        Raises:
            RecordError: A shard is damaged, or not what it was when it was listed: names it.
        """
        ...
