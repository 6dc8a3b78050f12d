"""The agreement: before an epoch the ranks exchange a few numbers once, and then know all steps."""

import logging
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from training.records.errors import AgreementError
from training.records.holdings import AllGather, Holder, exchange_holdings
from training.records.loader import RecordLoader
from training.records.plan import EpochPlan
from training.records.schemas import check_schemas, digest_schema

RANKS_IN_A_MESSAGE = 8
"""Ranks a message lists before it only counts the rest."""

SHARDS_IN_A_WARNING = 3
"""Shards that the warning of a slow host names."""

SLOW_STEPS = 1.05
"""Steps of the slowest rank against the mean, beyond which that is worth a warning."""

logger = logging.getLogger(__name__)


class _Statement(NamedTuple):
    """What one rank tells the others."""

    seed: int
    epoch: int
    batch_size: int
    shuffle: int
    block_bytes: int
    window_blocks: int
    counted: int
    drop: int
    resumed_from: int
    knows_holdings: int
    host_rank: int
    part: int
    parts: int
    listing_digest: int
    shards: int
    schema_digest: int
    host_records: int
    records: int


_SAME_EVERYWHERE = (
    "seed",
    "epoch",
    "batch_size",
    "shuffle",
    "block_bytes",
    "window_blocks",
    "counted",
    "drop",
    "resumed_from",
)
UNCOUNTED = 0
"""Records that a rank states when it has not counted them."""


def agree(loader: RecordLoader, *, epoch: int, host_rank: int, all_gather: AllGather) -> EpochPlan:
    """Exchange record counts with all ranks and plan the epoch.

    Args:
        loader: This rank's; it has counted its records.
        epoch: About to begin, counted from 0.
        host_rank: Number of this rank's host.
        all_gather: Called once; once more at a job's first epoch, where several hosts have shards,
            and where an interrupted epoch goes on. Equally often on all ranks.

    Returns:
        The plan, equal on all ranks.

    Raises:
        AgreementError: On all ranks alike: seeds, epochs or loader settings differ; the ranks of a
            host saw different shards or do not cut them into the same parts; two hosts hold a
            shard in common; or their shards are of different formats or columns.
        StateError: On all ranks alike: an interrupted epoch needs shards that no host holds.
    """
    statements = meet(loader, epoch=epoch, host_rank=host_rank, all_gather=all_gather)
    if not loader.settings.count:
        # Only now: where some ranks count and others do not, all of them have to know.
        raise ValueError(
            "count=False: records that were not counted cannot be planned. Use steps_of_epoch(), or"
            " set count to True."
        )
    plan = EpochPlan(
        counts=tuple(statement.records for statement in statements),
        batch_size=loader.settings.batch_size,
        uneven=loader.settings.uneven,
    )
    if not loader.has_planned and len({said.host_rank for said in statements}) > 1:
        # Once: it is the same in every epoch.
        _warn_of_slow_host(loader, statements, host_rank)
    loader.has_planned = True
    return plan


def meet(
    loader: RecordLoader, *, epoch: int, host_rank: int, all_gather: AllGather
) -> list[_Statement]:
    """Let all ranks tell each other what they are about to do, and check that it fits together.

    Returns:
        What each rank said, in rank order.

    Raises:
        AgreementError, StateError: On all ranks alike, see agree().
    """
    settings, segment, resumption = loader.settings, loader.segment(epoch), loader.resumption
    resumed = resumption is not None and resumption.epoch == epoch
    mine = _Statement(
        seed=settings.seed,
        epoch=epoch,
        batch_size=settings.batch_size,
        shuffle=int(settings.shuffle),
        block_bytes=settings.block_bytes,
        window_blocks=settings.window_blocks,
        counted=int(settings.count),
        drop=int(settings.uneven == "drop"),
        resumed_from=resumption.digest if resumption is not None and resumed else 0,
        knows_holdings=int(loader.holdings is not None),
        host_rank=host_rank,
        part=loader.part,
        parts=loader.parts,
        listing_digest=loader.listing_digest,
        shards=len(loader.shards),
        schema_digest=digest_schema(loader),
        host_records=sum(loader.counts),
        records=segment.records if segment.records is not None else UNCOUNTED,
    )
    # Every rank checks all statements, so all raise or none does: nobody waits for a dead peer.
    statements = [_Statement(*statement) for statement in all_gather(mine)]
    _check_settings(statements)
    ranks_of_hosts: dict[int, list[int]] = defaultdict(list)
    for rank, statement in enumerate(statements):
        ranks_of_hosts[statement.host_rank].append(rank)
    for host, ranks in ranks_of_hosts.items():
        _check_host(host, ranks, statements)
    hosts = [statements[ranks[0]] for ranks in ranks_of_hosts.values()]
    _check_replication(hosts)
    digests = [statement.schema_digest for statement in statements]
    check_schemas(loader, digests, host_rank=host_rank, all_gather=all_gather)
    _check_holdings(loader, statements, hosts, all_gather)
    return statements


def _check_holdings(
    loader: RecordLoader,
    statements: Sequence[_Statement],
    hosts: Sequence[_Statement],
    all_gather: AllGather,
) -> None:
    """Refuse hosts that hold a shard in common, and an interrupted epoch whose shards are gone.

    Raises:
        AgreementError, StateError: On all ranks alike.
    """
    holding = sum(host.shards > 0 for host in hosts)
    resumed = bool(statements[0].resumed_from)
    known = all(statement.knows_holdings for statement in statements)
    if not known and (holding > 1 or (resumed and len(hosts) > 1)):
        holders = [Holder(said.host_rank, said.shards, said.parts) for said in statements]
        loader.holdings = exchange_holdings(loader.shards, loader.part, holders, all_gather)
    if resumed:
        loader.check_resumption()


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


def _warn_of_slow_host(
    loader: RecordLoader, statements: Sequence[_Statement], host_rank: int
) -> None:
    """Say, on the host that takes the most steps, when the others wait for it, and why."""
    batch_size = loader.settings.batch_size
    steps = [-(-statement.records // batch_size) for statement in statements]
    longest, mean = max(steps), sum(steps) / len(steps)
    slowest = statements[steps.index(longest)].host_rank
    if longest <= SLOW_STEPS * mean or host_rank != slowest or loader.part != 0:
        return
    records = loader.records_of_shards()
    largest = sorted(range(len(records)), key=lambda shard: -records[shard])
    named = ", ".join(
        f"{loader.shards[shard].name} ({records[shard]} records)"
        for shard in largest[:SHARDS_IN_A_WARNING]
    )
    logger.warning(
        "host %d takes %d steps per epoch, the ranks take %.1f on average (%.2f times as many):"
        " the others %s. Its shards are %d, the largest %s. Write shards of equal size, a"
        " multiple of the hosts in number.",
        host_rank,
        longest,
        mean,
        longest / mean,
        "stop before it is done" if loader.settings.uneven == "drop" else "wait for it",
        len(records),
        named,
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
