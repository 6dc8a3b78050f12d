"""Where the hosts of a job reach each other. Source: docs/facts.md 4."""

import json
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from training.contract.cluster import Cluster
from training.contract.errors import ContractError
from training.contract.layout import PEERS_VARIABLE

DNS_WAIT_S: Final = 15 * 60
"""As long as SageMaker's own toolkit waits for peers' names."""
_RETRY_S: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where one rank is reached."""

    address: str
    port: int

    def __str__(self) -> str:
        return f"{self.address}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendezvous:
    """Where the ranks meet."""

    endpoints: tuple[Endpoint, ...]
    """Of all ranks, in their order."""
    first_rank: int
    """Of this host."""

    @property
    def chief(self) -> Endpoint:
        """Where global rank 0 is reached."""
        return self.endpoints[0]

    @property
    def local(self) -> Endpoint:
        """Where this host's first rank is reached."""
        return self.endpoints[self.first_rank]


def simulated_rendezvous(cluster: Cluster, peers: str, *, ranks_per_host: int) -> Rendezvous:
    """Take addresses from the peers variable: simulated hosts share one machine and have no names.

    Args:
        cluster: the hosts, each of which must be among the peers.
        peers: a JSON object, host -> ["address:port", one for each of its ranks].
        ranks_per_host: 1 or more.

    Raises:
        ContractError: the variable is malformed, a host is missing or has too few addresses.
    """
    given = _parse_peers(peers)
    missing = [host for host in cluster.hosts if len(given.get(host, ())) < ranks_per_host]
    if missing:
        raise ContractError(
            f"{PEERS_VARIABLE} has too few addresses for {', '.join(missing)}. Give "
            f"{ranks_per_host}, one per rank, for each of {', '.join(cluster.hosts)}."
        )
    return Rendezvous(
        endpoints=tuple(each for host in cluster.hosts for each in given[host][:ranks_per_host]),
        first_rank=cluster.host_rank * ranks_per_host,
    )


def named_rendezvous(cluster: Cluster, *, first_port: int, ranks_per_host: int) -> Rendezvous:
    """Take the hosts' own names, which DNS resolves, and fixed ports.

    Args:
        cluster: the hosts.
        first_port: of local rank 0 on each; the next rank's is the next one.
        ranks_per_host: 1 or more.
    """
    return Rendezvous(
        endpoints=tuple(
            Endpoint(address=host, port=first_port + local_rank)
            for host in cluster.hosts
            for local_rank in range(ranks_per_host)
        ),
        first_rank=cluster.host_rank * ranks_per_host,
    )


def wait_for_names(
    hosts: Sequence[str],
    *,
    stopped: Callable[[], bool],
    resolve: Callable[[str], object] = socket.gethostbyname,
    wait_s: float = DNS_WAIT_S,
    retry_s: float = _RETRY_S,
) -> None:
    """Wait until DNS knows every host: names may come later than containers.

    Args:
        hosts: the names.
        stopped: asked between tries; waiting ends at once when it says True.
        resolve: raises OSError while a name is unknown.
        wait_s: seconds for all names together.
        retry_s: seconds between tries.

    Raises:
        ContractError: a name is still unknown after `wait_s`.
    """
    deadline_s = time.monotonic() + wait_s
    unknown = list(hosts)
    while unknown and not stopped():
        unknown = [host for host in unknown if not _resolves(host, resolve)]
        if unknown and time.monotonic() >= deadline_s:
            raise ContractError(
                f"DNS knows no address for {', '.join(unknown)} after {wait_s:g} s. Hosts of one "
                "job find each other by name: check that all started, and in a VPC that its "
                "security group allows all traffic to itself, both ways."
            )
        if unknown:
            time.sleep(retry_s)


def _resolves(host: str, resolve: Callable[[str], object]) -> bool:
    try:
        resolve(host)
    except OSError:
        return False
    return True


def _parse_peers(text: str) -> dict[str, list[Endpoint]]:
    try:
        peers = json.loads(text)
        return {host: [_endpoint(one) for one in of_host] for host, of_host in peers.items()}
    except (ValueError, AttributeError, TypeError):
        raise ContractError(
            f'{PEERS_VARIABLE} is {text!r}. Give a JSON object of host -> ["address:port" of each '
            'rank], {"algo-1": ["127.0.0.1:7777"]}, or unset it to use DNS.'
        ) from None


def _endpoint(text: str) -> Endpoint:
    address, _, port = text.rpartition(":")
    return Endpoint(address=address, port=int(port))
