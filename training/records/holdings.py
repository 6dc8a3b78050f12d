"""Which host holds which shard: told to all ranks once, each name as a digest, with its size."""

import hashlib
import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

from training.records.errors import AgreementError
from training.records.shards import Shard

AllGather = Callable[[Sequence[int]], Sequence[Sequence[int]]]
"""The integers of this rank (signed, 64 bits) in, those of every rank, in rank order, out."""

TEXT_BYTES = 1024
"""The longest name of an S3 object; of a message, what SageMaker shows."""

WORD_BYTES = 7
"""Bytes of a text in one integer: an eighth one could make it negative."""


class Holder(NamedTuple):
    """What is known of one rank before the exchange."""

    host_rank: int
    shards: int
    """Of its host."""
    parts: int
    """Ranks of its host."""


def digest_name(name: str) -> int:
    """Digest the name of a shard: 63 bits."""
    return int.from_bytes(hashlib.sha256(os.fsencode(name)).digest()[:8], "big") >> 1


def exchange_holdings(
    shards: Sequence[Shard], part: int, holders: Sequence[Holder], all_gather: AllGather
) -> dict[int, int]:
    """Tell all ranks which shards each host holds.

    Args:
        shards: Of this rank's host. Its ranks share them out, so that each is told once.
        part: This rank's number among those of its host.
        holders: Every rank, in rank order.
        all_gather: Called once, and once more before an error.

    Returns:
        Bytes of every shard that a host holds, by the digest of its name.

    Raises:
        AgreementError: On all ranks alike: two hosts hold one shard; it names one.
    """
    length = max(-(-holder.shards // holder.parts) for holder in holders)
    share = shards[part * length : (part + 1) * length]
    told = [number for shard in share for number in (digest_name(shard.name), shard.size_bytes)]
    sizes: dict[int, int] = {}
    hosts_of_shards: dict[int, set[int]] = defaultdict(set)
    gathered = all_gather([len(share), *told, *[0] * (2 * (length - len(share)))])
    for holder, (count, *numbers) in zip(holders, gathered, strict=True):
        for index in range(0, 2 * count, 2):
            sizes[numbers[index]] = numbers[index + 1]
            hosts_of_shards[numbers[index]].add(holder.host_rank)
    shared = sorted(digest for digest, hosts in hosts_of_shards.items() if len(hosts) > 1)
    if shared:
        mine = (shard.name for shard in shards if digest_name(shard.name) == shared[0])
        name = tell(next(mine, ""), all_gather)
        hosts = ", ".join(map(str, sorted(hosts_of_shards[shared[0]])))
        rest = f" and {len(shared) - 1} more" if len(shared) > 1 else ""
        raise AgreementError(
            f"The hosts {hosts} both hold the shard {name}{rest}: their records would be used"
            " several times per epoch. Set the channel's S3DataDistributionType to ShardedByS3Key,"
            " and give no object to two hosts."
        )
    return sizes


def tell(text: str, all_gather: AllGather) -> str:
    """Let one rank tell all others something.

    Args:
        text: Empty on all ranks but those that tell, and one of them does; its first 1,024 bytes
            arrive.
        all_gather: Called once.

    Returns:
        What the first rank of those told.
    """
    encoded = os.fsencode(text)[:TEXT_BYTES]
    padded = encoded.ljust(-(-TEXT_BYTES // WORD_BYTES) * WORD_BYTES, b"\0")
    words = [
        int.from_bytes(padded[first : first + WORD_BYTES], "big")
        for first in range(0, len(padded), WORD_BYTES)
    ]
    said = all_gather([len(encoded), *words])
    length, *words = next(numbers for numbers in said if numbers[0])
    return os.fsdecode(b"".join(word.to_bytes(WORD_BYTES, "big") for word in words)[:length])
