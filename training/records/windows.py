"""A window: the lines of a few blocks in memory, handed out in the epoch's order."""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from training.records.blocks import BlockLines, BlockTable, read_blocks
from training.records.order import EpochOrder
from training.records.shards import Shard

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Line(NamedTuple):
    """One line of a shard."""

    shard: Shard
    offset_bytes: int
    """Where the line starts in the shard."""
    content: bytes
    """Without newline, final carriage return and, at the start of a file, byte order mark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Lines of one window. Memory: the blocks' bytes plus 40 bytes per line."""

    number: int
    blocks: list[BlockLines]
    block_of: NDArray[np.int64]
    """Index into `blocks` of each line, in the epoch's order; shape (lines,). The next two too."""
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]

    @classmethod
    def read(cls, table: BlockTable, order: EpochOrder, number: int) -> Self:
        """Read a window's blocks and put their lines into the epoch's order.

        Raises:
            RecordError: A shard is not what it was when its lines were counted.
        """
        blocks = read_blocks(table, order.blocks_of(number))
        permutation = order.permutation(number)
        lengths = [len(block.starts) for block in blocks]
        return cls(
            number=number,
            blocks=blocks,
            block_of=np.repeat(np.arange(len(blocks)), lengths)[permutation],
            starts=np.concatenate([block.starts for block in blocks])[permutation],
            stops=np.concatenate([block.stops for block in blocks])[permutation],
        )

    def lines(self, first: int, last: int) -> list[Line]:
        """Return the lines at the positions `first` to `last` (exclusive) of the window's order."""
        chosen = slice(first, last)
        return [
            _line(self.blocks[block], start, stop)
            for block, start, stop in zip(
                self.block_of[chosen].tolist(),
                self.starts[chosen].tolist(),
                self.stops[chosen].tolist(),
                strict=True,
            )
        ]


def _line(block: BlockLines, start: int, stop: int) -> Line:
    content = bytes(block.content[start:stop]).removesuffix(b"\r")
    offset_bytes = block.base_byte + start
    if offset_bytes == 0:
        content = content.removeprefix(BYTE_ORDER_MARK)
    return Line(block.shard, offset_bytes, content)
