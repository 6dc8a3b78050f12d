"""The index of a tar archive: where its samples start, and whether it is whole."""

import io
import logging
from array import array
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from training.contract.shard_names import listed
from training.records.errors import RecordError
from training.records.formats import tar_arrays, tar_samples
from training.records.formats.protocol import ShardIndex
from training.records.formats.tar_headers import UNIT_BYTES, damaged, shown
from training.records.reading import PIECE_BYTES, fill
from training.records.shards import Shard

LARGE_PIECE_BYTES = 4 << 20
"""Bytes read at a time once an archive has shown that its members are small: every piece costs some
hundred calls of numpy."""

MOST_BYTES_PER_MEMBER = 32 << 10
"""With more, hopping from header to header is cheaper than reading what lies between them."""

logger = logging.getLogger(__name__)


class TarIndex(NamedTuple):
    """What is known of an archive once all its headers were seen."""

    starts: NDArray[np.int64]
    """Byte of each sample's first header; shape (samples,)."""
    stop: int
    """Byte behind the last sample."""
    endings: set[bytes]
    """All that occur."""

    def blocks(self, block_bytes: int) -> ShardIndex:
        """Cut the samples into blocks that reach `block_bytes`, or hold one sample."""
        firsts = [0] if len(self.starts) else []
        while firsts:
            reached = self.starts[firsts[-1]] + block_bytes
            first = int(np.searchsorted(self.starts, reached))
            if first == len(self.starts):
                break
            firsts.append(first)
        bounds = np.append(self.starts[firsts], self.stop)
        counts = np.array([b - a for a, b in pairwise([*firsts, len(self.starts)])], np.int64)
        return ShardIndex(bounds=bounds, counts=counts, sizes=bounds[1:] - bounds[:-1])


def index_archive(file: io.FileIO, shard: Shard) -> TarIndex:
    """See all headers of an archive; what lies between large members is not read.

    Raises:
        RecordError: It is cut or damaged; a key comes back after another one; a sample has two
            members of one ending; or a member is no regular file or has no ending.
    """
    return _by_arrays(file, shard) or _by_walking(file, shard)


class _Found:
    """Gathers samples, of which there may be many: 16 bytes each."""

    def __init__(self) -> None:
        self.starts = array("q")
        self.hashes = array("q")
        self.endings: set[bytes] = set()
        self.stop = 0

    def index(self, file: io.FileIO, shard: Shard) -> TarIndex:
        """Return what was found.

        Raises:
            RecordError: A key comes back after another one.
        """
        in_order = np.sort(np.frombuffer(self.hashes, np.int64))
        if (in_order[1:] == in_order[:-1]).any():
            _refuse_double_keys(file, shard)
        return TarIndex(np.frombuffer(self.starts, np.int64), self.stop, self.endings)


def _by_arrays(file: io.FileIO, shard: Shard) -> TarIndex | None:
    """Index an archive of many small members; None where it has large or unusual ones."""
    found = _Found()
    offset = 0
    # One for all pieces: new memory would cost more than reading into it.
    buffer = np.empty(min(LARGE_PIECE_BYTES, shard.size_bytes), np.uint8)
    while True:
        most = LARGE_PIECE_BYTES if offset else PIECE_BYTES
        piece = buffer[: min(most, shard.size_bytes - offset)]
        fill(file, shard, offset, piece.data)
        if len(piece) >= UNIT_BYTES and not piece[:UNIT_BYTES].any():
            _check_rest(file, shard, offset)
            return found.index(file, shard)
        members = tar_arrays.find_members(piece, check=True)
        samples = None if members is None else tar_arrays.find_samples(members.names)
        if members is None or samples is None:
            return None
        firsts = np.flatnonzero(samples.is_first)
        goes_on = members.next_header + UNIT_BYTES > len(piece) or piece[members.next_header]
        if goes_on:
            # The last sample may go on in the next piece, which starts with it.
            are_large = len(members.names) * MOST_BYTES_PER_MEMBER < len(piece)
            if are_large or len(firsts) == 1:
                return None
            stop = firsts[-1]
        else:
            stop = len(members.names)
        whole = firsts[: len(firsts) - 1] if goes_on else firsts
        found.starts.frombytes((offset + members.starts[whole]).tobytes())
        hashes = tar_arrays.hash_keys(members.names[whole], samples.key_lengths[whole])
        found.hashes.frombytes(hashes.tobytes())
        found.endings.update(samples.endings)
        found.stop = offset + int(members.stops[stop - 1])
        offset += int(members.starts[stop]) if goes_on else members.next_header


def _by_walking(file: io.FileIO, shard: Shard) -> TarIndex:
    """Index any archive."""
    found = _Found()
    hidden: list[bytes] = []
    walk = tar_samples.walk_archive(file, shard)
    for sample in tar_samples.find_samples(shard, walk, hidden):
        found.starts.append(sample.members[0].start)
        found.hashes.append(hash(sample.key))
        found.endings.update(sample.endings)
        found.stop = sample.members[-1].stop
    _check_rest(file, shard, walk.offset)
    if hidden:
        names = listed([shown(name) for name in hidden])
        logger.warning("%s: skipped hidden members: %s", shard.name, names)
    return found.index(file, shard)


def _check_rest(file: io.FileIO, shard: Shard, offset: int) -> None:
    """Refuse what stands behind the marker of the archive's end: it would be lost.

    Raises:
        RecordError: There is something.
    """
    for start in range(offset, shard.size_bytes, PIECE_BYTES):
        piece = bytearray(min(PIECE_BYTES, shard.size_bytes - start))
        fill(file, shard, start, memoryview(piece))
        if piece.count(0) != len(piece):
            raise damaged(
                shard,
                f"its end is marked at byte {offset}, but there is more behind it (archives cannot"
                " be joined by appending files)",
            )


def _refuse_double_keys(file: io.FileIO, shard: Shard) -> None:
    """Refuse a key that comes back after another one.

    Raises:
        RecordError: Names it.
    """
    hashes = array("q")
    for sample in tar_samples.find_samples(shard, tar_samples.walk_archive(file, shard), []):
        hashes.append(hash(sample.key))
    in_order = np.sort(np.frombuffer(hashes, np.int64))
    suspects = set(in_order[1:][in_order[1:] == in_order[:-1]].tolist())
    # Equal hashes may be of different keys: only the keys themselves tell.
    seen: set[bytes] = set()
    for sample in tar_samples.find_samples(shard, tar_samples.walk_archive(file, shard), []):
        if hash(sample.key) not in suspects:
            continue
        if sample.key in seen:
            raise RecordError(
                f"{shard.name}: members of the key {shown(sample.key)} start at byte"
                f" {sample.members[0].start}, but others of it lie earlier, apart from them. The"
                " members of a sample must follow each other, and no key may come twice: write the"
                " shard in the order of its names (GNU tar: --sort=name)."
            )
        seen.add(sample.key)
