"""Going on with an interrupted epoch, on the same hosts or on others."""

import hashlib
import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from training.contract.shard_names import listed
from training.records.errors import StateError
from training.records.order import BlockLayout, OrderKey
from training.records.segment import Segment, make_segment
from training.records.state import RankState, StateShard
from training.records.used import UsedRecords, merge

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostBlocks:
    """The blocks that a host holds now, and how its ranks read them."""

    shards: tuple[StateShard, ...]
    layout: BlockLayout
    counts: NDArray[np.int64] | None
    """Records of each block, shape (blocks,); None: uncounted."""
    key: OrderKey
    """Of the settings; whatever epoch."""
    format: str
    block_bytes: int
    part: int
    parts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumption:
    """What one rank has to do to end an interrupted epoch."""

    epoch: int
    digest: int
    """Of the states of all ranks; 1 or more."""
    sizes: Mapping[str, int]
    """Bytes of every shard that the epoch consists of, by name, whoever holds it."""
    segment: Segment


def resume(states: Sequence[RankState], host: HostBlocks) -> Resumption:
    """Find out what is left of an epoch for one rank.

    Every record of the epoch is handed out once, whoever holds its shard now: a host that holds
    what one host held before, cut into as many parts, goes on exactly where that one stopped; any
    other hands out what is left of its shards in a new order.

    Args:
        states: Of all ranks of the interrupted job, in any order.
        host: What this rank's host holds.

    Raises:
        StateError: The states do not belong together, some are missing, or they are of a job with
            other settings.
    """
    if not states:
        raise StateError("No states were given: give those of all ranks of the interrupted job.")
    by_listing: dict[tuple[StateShard, ...], list[RankState]] = defaultdict(list)
    for state in states:
        _check_settings(state, states[0], host)
        by_listing[state.shards].append(state)
    digest = _digest(states)
    segment = _same_place(by_listing, host)
    if segment is None or len(states) > 1:
        # Alone, a state is enough for the very rank it is of.
        for listing, sharing in by_listing.items():
            _check_parts(listing, sharing)
    return Resumption(
        epoch=states[0].key.epoch,
        digest=digest,
        sizes=_sizes(by_listing),
        segment=segment or _ordered_anew(by_listing, host, digest),
    )


def _same_place(
    by_listing: Mapping[tuple[StateShard, ...], Sequence[RankState]], host: HostBlocks
) -> Segment | None:
    """Return the segment of this very part of this very listing, from where it stopped."""
    for state in by_listing.get(host.shards, ()):
        if (state.part, state.parts) == (host.part, host.parts):
            segment = _segment(state.key, state.used_before, host)
            return segment.resumed(state.now, state.counts)
    return None


def _ordered_anew(
    by_listing: Mapping[tuple[StateShard, ...], Sequence[RankState]],
    host: HostBlocks,
    digest: int,
) -> Segment:
    """Return a segment of all that is left of the shards that the host holds."""
    used_of_shards: dict[str, UsedRecords] = {}
    mine = {shard.name for shard in host.shards}
    for listing, sharing in by_listing.items():
        if any(shard.name in mine for shard in listing):
            used_of_shards |= _split(merge(state.used() for state in sharing), listing, mine)
    whole: list[int] = []
    partly: dict[int, NDArray[np.bool_]] = {}
    waiting = []
    first = 0
    for shard in host.shards:
        used = used_of_shards.get(shard.name)
        if used is None:
            waiting.append(shard.name)
            whole += range(first, first + shard.blocks)
        else:
            whole += [first + block for block in used.whole]
            partly |= {first + block: flags for block, flags in used.partly.items()}
        first += shard.blocks
    if waiting:
        logger.warning(
            "%s: not part of the interrupted epoch, so used from the next one on", listed(waiting)
        )
    state = next(iter(by_listing.values()))[0]
    key = replace(host.key, epoch=state.key.epoch, digest=digest)
    return _segment(key, UsedRecords(frozenset(whole), partly), host)


def _segment(key: OrderKey, used: UsedRecords, host: HostBlocks) -> Segment:
    return make_segment(key, used, host.layout, host.counts, part=host.part, parts=host.parts)


def _split(
    used: UsedRecords, listing: Sequence[StateShard], wanted: set[str]
) -> dict[str, UsedRecords]:
    """Return what was used of each wanted shard, its blocks numbered from 0."""
    whole = np.array(sorted(used.whole), np.int64)
    partly = np.array(sorted(used.partly), np.int64)
    split: dict[str, UsedRecords] = {}
    first = 0
    for shard in listing:
        last = first + shard.blocks
        if shard.name in wanted:
            split[shard.name] = UsedRecords(
                frozenset((_between(whole, first, last) - first).tolist()),
                {
                    block - first: used.partly[block]
                    for block in _between(partly, first, last).tolist()
                },
            )
        first = last
    return split


def _between(numbers: NDArray[np.int64], first: int, last: int) -> NDArray[np.int64]:
    """Return those of some ascending numbers that are `first` or more and less than `last`."""
    return numbers[slice(*np.searchsorted(numbers, (first, last)))]


def _sizes(listings: Iterable[tuple[StateShard, ...]]) -> dict[str, int]:
    """Return the bytes of each shard of the epoch.

    Raises:
        StateError: Two hosts held one shard.
    """
    sizes: dict[str, int] = {}
    for listing in listings:
        for shard in listing:
            if shard.name in sizes:
                raise StateError(
                    f"The states say that two hosts held {shard.name}: they belong to different"
                    " checkpoints. Give those of all ranks of one checkpoint."
                )
            sizes[shard.name] = shard.size_bytes
    return sizes


def _check_settings(state: RankState, first: RankState, host: HostBlocks) -> None:
    """Refuse states of different jobs or epochs, or of other settings than the host's.

    Raises:
        StateError: Names the setting and both values.
    """
    if state.key.epoch != first.key.epoch:
        raise StateError(
            f"The states are of epochs {first.key.epoch} and {state.key.epoch}: they belong to"
            " different checkpoints. Give those of all ranks of one checkpoint."
        )
    pairs: dict[str, tuple[object, object]] = {
        "seed": (state.key.seed, host.key.seed),
        "shuffle": (state.key.shuffle, host.key.shuffle),
        "window_blocks": (state.key.window_blocks, host.key.window_blocks),
        "block_bytes": (state.block_bytes, host.block_bytes),
        "count": (state.counted, host.counts is not None),
    }
    if state.shards and host.shards:
        pairs["format"] = (state.format, host.format)
    for name, (before, now) in pairs.items():
        if before != now:
            raise StateError(
                f"The interrupted epoch was read with {name}={before}, not {now}: its order depends"
                " on that. Resume with the value it began with."
            )


def _check_parts(listing: Sequence[StateShard], sharing: Sequence[RankState]) -> None:
    """Refuse a host of which the states of some ranks are missing.

    Raises:
        StateError: Names the parts that there are.
    """
    if not listing:
        return
    parts = sorted(state.part for state in sharing)
    if parts != list(range(len(parts))) or any(state.parts != len(parts) for state in sharing):
        told = ", ".join(f"{state.part} of {state.parts}" for state in sharing)
        raise StateError(
            f"Of the host that held {listed([shard.name for shard in listing])}, the states of the"
            f" parts {told} were given. Give those of all ranks of one checkpoint."
        )


def _digest(states: Sequence[RankState]) -> int:
    """Digest states, whatever their order: 1 or more, 63 bits."""
    joined = hashlib.sha256(b"\n".join(sorted(state.canonical() for state in states)))
    return int.from_bytes(joined.digest()[:8], "big") >> 1 or 1
