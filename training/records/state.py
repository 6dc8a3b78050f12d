"""The state of a rank in the middle of an epoch, as it is written and read."""

import base64
import binascii
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from training.records.errors import StateError
from training.records.order import BlockLayout, EpochOrder, OrderKey
from training.records.segment import Place
from training.records.used import UsedRecords, merge

VERSION = 1


class StateShard(NamedTuple):
    """A shard as a state knows it."""

    name: str
    size_bytes: int
    blocks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RankState:
    """How far one rank has come in an epoch. Nothing in it is of the host it was written on."""

    key: OrderKey
    format: str
    block_bytes: int
    counted: bool
    sequential: bool
    window_firsts: tuple[int, ...] | None
    """Of the rank's order, see EpochOrder; None: they follow from `window_blocks`."""
    shards: tuple[StateShard, ...]
    """Of the rank's host, in order; they number the blocks."""
    part: int
    parts: int
    used_before: UsedRecords
    """Records of the host that the epoch had used before the segment began."""
    first: Place
    """Where this rank's part of the order starts."""
    now: Place
    """Up to where it was handed out."""
    counts: Mapping[int, int]
    """Records of the blocks of the windows of `first` and `now`, by block number."""

    def used(self) -> UsedRecords:
        """Return all records of the rank's host that were used, as far as this rank knows."""
        order = self._order()
        whole: set[int] = set()
        partly: dict[int, NDArray[np.bool_]] = {}
        for window in range(self.first.window, min(self.now.window + 1, order.windows)):
            first = self.first.offset if window == self.first.window else 0
            last = self.now.offset if window == self.now.window else None
            numbers = order.blocks_of(window)
            if first == 0 and last is None:
                whole.update(numbers.tolist())
            elif last is None or first < last:
                lengths = np.array([self._count(block) for block in numbers.tolist()], np.int64)
                unused = self.used_before.unused(numbers, lengths)
                records = int(lengths.sum()) if unused is None else len(unused)
                chosen = order.permutation(window, records)[first:last]
                flags = np.zeros(int(lengths.sum()), np.bool_)
                flags[chosen if unused is None else unused[chosen]] = True
                cuts = np.split(flags, np.cumsum(lengths)[:-1])
                partly.update(zip(numbers.tolist(), cuts, strict=True))
        return merge([self.used_before, UsedRecords(frozenset(whole), partly)])

    def _order(self) -> EpochOrder:
        first_blocks = np.cumsum([0, *(shard.blocks for shard in self.shards)], dtype=np.int64)
        layout = BlockLayout(first_blocks=first_blocks, sequential=self.sequential)
        order = self.key.order(self.used_before.blocks_left(int(first_blocks[-1])), layout)
        if not self.counted:
            order = order.part(self.part, self.parts)
        if self.window_firsts is not None:
            order = replace(order, window_firsts=np.array(self.window_firsts, np.int64))
        return order

    def _count(self, block: int) -> int:
        try:
            return self.counts[block]
        except KeyError:
            raise StateError(
                f"The state lacks the count of block {block}: it is damaged. Take another"
                " checkpoint."
            ) from None

    def to_json(self) -> dict[str, Any]:
        """Return it as what JSON can hold."""
        return {
            "version": VERSION,
            "seed": self.key.seed,
            "epoch": self.key.epoch,
            "digest": self.key.digest,
            "shuffle": self.key.shuffle,
            "window_blocks": self.key.window_blocks,
            "window_bytes": self.key.window_bytes,
            "format": self.format,
            "block_bytes": self.block_bytes,
            "counted": self.counted,
            "sequential": self.sequential,
            "window_firsts": None if self.window_firsts is None else list(self.window_firsts),
            "shards": [list(shard) for shard in self.shards],
            "part": self.part,
            "parts": self.parts,
            "used_blocks": _pack_numbers(self.used_before.whole),
            "used_records": {
                str(block): [len(flags), _pack_flags(flags)]
                for block, flags in sorted(self.used_before.partly.items())
            },
            "first": list(self.first),
            "now": list(self.now),
            "counts": {str(block): count for block, count in sorted(self.counts.items())},
        }

    @classmethod
    def from_json(cls, state: Mapping[str, Any]) -> Self:
        """Read what `to_json` wrote.

        Raises:
            StateError: It is something else.
        """
        if not isinstance(state, Mapping) or state.get("version") != VERSION:
            version = state.get("version") if isinstance(state, Mapping) else None
            raise StateError(
                f"The state of a rank has version {version!r}. This code reads version {VERSION}:"
                " resume with the code that wrote the checkpoint."
            )
        try:
            return cls._from_json(state)
        except (KeyError, TypeError, ValueError, binascii.Error, zlib.error) as error:
            raise StateError(
                f"The state of a rank is damaged ({type(error).__name__}: {error}). Take another"
                " checkpoint."
            ) from error

    @classmethod
    def _from_json(cls, state: Mapping[str, Any]) -> Self:
        firsts = state["window_firsts"]
        return cls(
            key=OrderKey(
                seed=int(state["seed"]),
                epoch=int(state["epoch"]),
                digest=int(state["digest"]),
                shuffle=bool(state["shuffle"]),
                window_blocks=int(state["window_blocks"]),
                window_bytes=int(state["window_bytes"]),
            ),
            format=str(state["format"]),
            block_bytes=int(state["block_bytes"]),
            counted=bool(state["counted"]),
            sequential=bool(state["sequential"]),
            window_firsts=None if firsts is None else tuple(int(first) for first in firsts),
            shards=tuple(
                StateShard(str(name), int(size), int(blocks))
                for name, size, blocks in state["shards"]
            ),
            part=int(state["part"]),
            parts=int(state["parts"]),
            used_before=UsedRecords(
                _unpack_numbers(state["used_blocks"]),
                {
                    int(block): _unpack_flags(flags, int(records))
                    for block, (records, flags) in state["used_records"].items()
                },
            ),
            first=_place(state["first"]),
            now=_place(state["now"]),
            counts={int(block): int(count) for block, count in state["counts"].items()},
        )

    def canonical(self) -> bytes:
        """Return bytes that are equal for equal states."""
        return json.dumps(self.to_json(), sort_keys=True).encode()


def _place(pair: Sequence[Any]) -> Place:
    window, offset = pair
    return Place(int(window), int(offset))


def _pack_flags(flags: NDArray[np.bool_]) -> str:
    return base64.b64encode(zlib.compress(np.packbits(flags).tobytes())).decode()


def _unpack_flags(text: str, records: int) -> NDArray[np.bool_]:
    packed = np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8)
    if len(packed) != -(-records // 8):
        raise ValueError(f"{len(packed)} bytes of flags for {records} records")
    return np.unpackbits(packed, count=records).astype(np.bool_)


def _pack_numbers(numbers: frozenset[int]) -> str:
    flags = np.zeros(max(numbers, default=-1) + 1, np.bool_)
    flags[list(numbers)] = True
    return _pack_flags(flags)


def _unpack_numbers(text: str) -> frozenset[int]:
    packed = np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8)
    return frozenset(np.flatnonzero(np.unpackbits(packed)).tolist())
