"""What the shards of all hosts must have in common: one format and, where it has any, its columns.

A host checks its own shards when it indexes them; those of other hosts it can only hear of.
"""

from collections.abc import Sequence

from training.records.errors import AgreementError
from training.records.holdings import AllGather, digest_name, tell
from training.records.loader import RecordLoader

NO_SHARDS = 0
"""What a host without shards states in place of a digest: it fits any other."""


def digest_schema(loader: RecordLoader) -> int:
    """Digest the format and the columns of a host's shards: 1 or more, 63 bits, or NO_SHARDS."""
    return (digest_name(_described(loader)) or 1) if loader.shards else NO_SHARDS


def check_schemas(
    loader: RecordLoader, digests: Sequence[int], *, host_rank: int, all_gather: AllGather
) -> None:
    """Refuse hosts whose shards are of different formats or have different columns.

    Args:
        loader: This rank's.
        digests: Of every rank, in rank order.
        host_rank: Number of this rank's host.
        all_gather: Called twice before an error, else never.

    Raises:
        AgreementError: On all ranks alike: names a shard and the columns of each of two kinds.
    """
    different = [digest for digest in dict.fromkeys(digests) if digest != NO_SHARDS]
    if len(different) < 2:  # noqa: PLR2004 - one kind is what is wanted
        return
    mine = digest_schema(loader)
    words = ""
    if loader.shards:
        words = f"{loader.shards[0].name} on host {host_rank} is {_described(loader)}"
    first, second = (tell(words if digest == mine else "", all_gather) for digest in different[:2])
    raise AgreementError(
        f"The hosts hold shards of different kinds: {first}; {second}. All shards of a channel need"
        " one format and the same columns: write them alike, or choose columns that are."
    )


def _described(loader: RecordLoader) -> str:
    columns = loader.format.columns
    return loader.format.name + (f" with the columns {columns}" if columns else "")
