"""The agreement: before an epoch the ranks exchange a few numbers once, and then know all steps."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from training.records.errors import AgreementError
from training.records.loader import RecordLoader

AllGather = Callable[[Sequence[int]], Sequence[Sequence[int]]]
"""The integers of this rank (signed, 64 bits) in, those of every rank, in rank order, out."""

RANKS_IN_A_MESSAGE = 8
"""Ranks a message lists before it only counts the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochPlan:
    """What every rank does in an epoch; the same object on each of them."""

    counts: tuple[int, ...]
    """Records of each rank, shape (ranks,)."""

    batch_size: int
    """Records of one rank in one step, 1 or more; a rank's last batch may hold fewer."""

    @property
    def steps(self) -> int:
        """Steps every rank takes: those of the rank with the most records; 0 without records."""
        return -(-max(self.counts, default=0) // self.batch_size)

    def records_in_step(self, step: int) -> int:
        """Return the records all ranks together use in `step`, 1 or more."""
        return sum(self.records_of_rank_in_step(rank, step) for rank in range(len(self.counts)))

    def records_of_rank_in_step(self, rank: int, step: int) -> int:
        """Return the records `rank` uses in `step`; 0 once it has run out of them."""
        if not 0 <= step < self.steps:
            raise ValueError(f"step={step}: this epoch has steps 0 to {self.steps - 1}.")
        return min(max(self.counts[rank] - step * self.batch_size, 0), self.batch_size)


class _Statement(NamedTuple):
    """What one rank tells the others."""

    seed: int
    epoch: int
    batch_size: int
    shuffle: int
    block_bytes: int
    window_blocks: int
    host_rank: int
    part: int
    parts: int
    listing_digest: int
    shards: int
    host_records: int
    records: int


_SAME_EVERYWHERE = ("seed", "epoch", "batch_size", "shuffle", "block_bytes", "window_blocks")


def agree(loader: RecordLoader, *, epoch: int, host_rank: int, all_gather: AllGather) -> EpochPlan:
    """Exchange record counts with all ranks, in one collective, and plan the epoch.

    Args:
        loader: This rank's.
        epoch: About to begin, counted from 0.
        host_rank: Number of this rank's host.
        all_gather: Called exactly once.

    Returns:
        The plan, equal on all ranks.

    Raises:
        AgreementError: On all ranks alike: seeds, epochs or loader settings differ; the ranks of a
            host saw different shards or do not cut them into the same parts; or two hosts hold the
            same shards.
    """
    settings = loader.settings
    mine = _Statement(
        seed=settings.seed,
        epoch=epoch,
        batch_size=settings.batch_size,
        shuffle=int(settings.shuffle),
        block_bytes=settings.block_bytes,
        window_blocks=settings.window_blocks,
        host_rank=host_rank,
        part=loader.part,
        parts=loader.parts,
        listing_digest=loader.listing_digest,
        shards=len(loader.shards),
        host_records=sum(loader.counts),
        records=loader.counts[loader.part],
    )
    # Every rank checks all statements, so all raise or none does: nobody waits for a dead peer.
    statements = [_Statement(*statement) for statement in all_gather(mine)]
    _check_settings(statements)
    ranks_of_hosts: dict[int, list[int]] = defaultdict(list)
    for rank, statement in enumerate(statements):
        ranks_of_hosts[statement.host_rank].append(rank)
    for host, ranks in ranks_of_hosts.items():
        _check_host(host, ranks, statements)
    _check_replication([statements[ranks[0]] for ranks in ranks_of_hosts.values()])
    return EpochPlan(
        counts=tuple(statement.records for statement in statements),
        batch_size=settings.batch_size,
    )


def _check_settings(statements: Sequence[_Statement]) -> None:
    """Refuse ranks that order or batch their records differently.

    Raises:
        AgreementError: Names the setting, its values and their ranks.
    """
    for name in _SAME_EVERYWHERE:
        given = _ranks_by_value(statements, range(len(statements)), name)
        if len(given) > 1:
            raise AgreementError(
                f"The ranks disagree on {name}: {_described(given)}. One job has one value: start"
                " every rank with the same hyperparameters and the same code."
            )


def _check_host(host: int, ranks: Sequence[int], statements: Sequence[_Statement]) -> None:
    """Refuse a host whose ranks do not cut one listing into one set of parts.

    Raises:
        AgreementError: Names the host and what its ranks differ in.
    """
    given = _ranks_by_value(statements, ranks, "listing_digest")
    if len(given) > 1:
        seen = "; ".join(
            f"{_named(sharing)} {statements[sharing[0]].shards} shards with"
            f" {statements[sharing[0]].host_records} records"
            for sharing in given.values()
        )
        raise AgreementError(
            f"The ranks of host {host} saw different shards (names or sizes): {seen}. The channel's"
            " directory must be complete before the ranks start and stay as it is."
        )
    given = _ranks_by_value(statements, ranks, "host_records")
    if len(given) > 1:
        raise AgreementError(
            f"The ranks of host {host} counted different records in the same shards:"
            f" {_described(given)}. Shards must stay as they are while a job runs."
        )
    parts = [statements[rank].part for rank in ranks]
    if sorted(parts) != list(range(len(ranks))) or any(
        statements[rank].parts != len(ranks) for rank in ranks
    ):
        told = ", ".join(f"{statements[rank].part} of {statements[rank].parts}" for rank in ranks)
        raise AgreementError(
            f"The {len(ranks)} ranks of host {host} read the parts {told}: records would be missed"
            f" or used twice. Give each its local rank as part and {len(ranks)} as parts."
        )


def _check_replication(hosts: Sequence[_Statement]) -> None:
    """Refuse hosts that hold the same shards; hosts without any are alike and in order.

    Raises:
        AgreementError: Names the hosts.
    """
    holders: dict[int, list[_Statement]] = defaultdict(list)
    for host in hosts:
        if host.shards:
            holders[host.listing_digest].append(host)
    for sharing in holders.values():
        if len(sharing) > 1:
            names = ", ".join(str(host.host_rank) for host in sharing)
            raise AgreementError(
                f"The hosts {names} hold the same {sharing[0].shards} shards: the channel is"
                f" replicated, not sharded, and each record would be used {len(sharing)} times per"
                " epoch. Set the channel's S3DataDistributionType to ShardedByS3Key."
            )


def _ranks_by_value(
    statements: Sequence[_Statement], ranks: Sequence[int], name: str
) -> dict[int, list[int]]:
    """Group `ranks` by what they said about `name`."""
    groups: dict[int, list[int]] = defaultdict(list)
    for rank in ranks:
        groups[getattr(statements[rank], name)].append(rank)
    return groups


def _described(ranks_by_value: dict[int, list[int]]) -> str:
    return ", ".join(f"{value} on {_named(ranks)}" for value, ranks in ranks_by_value.items())


def _named(ranks: Sequence[int]) -> str:
    shown = ", ".join(str(rank) for rank in ranks[:RANKS_IN_A_MESSAGE])
    rest = len(ranks) - RANKS_IN_A_MESSAGE
    more = f" and {rest} more" if rest > 0 else ""
    return f"rank{'s' if len(ranks) > 1 else ''} {shown}{more}"
