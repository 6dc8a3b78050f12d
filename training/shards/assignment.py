"""Which host gets which object of a ShardedByS3Key channel.

SageMaker documents no order, only "approximately 1/n of the number of objects" for each host: by
count, never by bytes, and objects are never split. Nothing may depend on the rules below except
forecasts (Preflight) and simulations. Source: docs/facts.md 1.
"""

import random
from collections.abc import Iterable, Sequence


def host_names(count: int) -> tuple[str, ...]:
    """The names SageMaker gives to `count` hosts: algo-1, algo-2, ...

    Raises:
        ValueError: fewer than one host.
    """
    if count < 1:
        raise ValueError(f"{count} hosts: a training job needs at least 1.")
    return tuple(f"algo-{number}" for number in range(1, count + 1))


def round_robin(keys: Iterable[str], hosts: Sequence[str]) -> dict[str, list[str]]:
    """Deal the sorted keys out one at a time. Observed in jobs with two hosts, not contracted.

    Keys are sorted as strings (`_1, _10, _2`), which for Unicode is the order of their UTF-8 bytes.

    Args:
        keys: object keys, in any order.
        hosts: host names, the first one gets the first key.

    Returns:
        Every host with its keys, sorted; the list is empty for a host that gets none.

    Raises:
        ValueError: no hosts, or a host named twice.
    """
    _check_hosts(hosts)
    ordered = sorted(keys)
    return {host: ordered[index :: len(hosts)] for index, host in enumerate(hosts)}


def shuffled(keys: Iterable[str], hosts: Sequence[str], seed: int) -> dict[str, list[str]]:
    """Assign every key to a host at random, hosts without a key included.

    Training must be right under any partition, so simulations draw them.

    Args:
        keys: object keys, in any order; the result does not depend on it.
        hosts: host names.
        seed: equal seeds give equal partitions.

    Returns:
        Every host with its keys, sorted.

    Raises:
        ValueError: no hosts, or a host named twice.
    """
    _check_hosts(hosts)
    draw = random.Random(seed)  # noqa: S311 - a reproducible partition, nothing secret
    partition: dict[str, list[str]] = {host: [] for host in hosts}
    for key in sorted(keys):
        partition[draw.choice(hosts)].append(key)
    return partition


def _check_hosts(hosts: Sequence[str]) -> None:
    if not hosts:
        raise ValueError("no hosts: a training job needs at least 1.")
    if len(set(hosts)) != len(hosts):
        raise ValueError(f"hosts {', '.join(hosts)}: a host is named twice.")
