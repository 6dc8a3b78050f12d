"""Where the hosts of a job reach each other. Source: docs/facts.md 4."""

import json
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from training.contract.cluster import Cluster
from training.contract.errors import ContractError
from training.contract.layout import MASTER_PORT, PEERS_VARIABLE

DNS_WAIT_S: Final = 15 * 60
"""As long as SageMaker's own toolkit waits for peers' names."""
_RETRY_S: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendezvous:
    """Where the ranks meet."""

    chief_address: str
    chief_port: int
    local_address: str


def simulated_rendezvous(cluster: Cluster, peers: str) -> Rendezvous:
    """Take addresses from the peers variable: simulated hosts share one machine and have no names.

    Args:
        cluster: the hosts, each of which must be among the peers.
        peers: a JSON object, host -> "address:port".

    Raises:
        ContractError: the variable is malformed or a host is missing.
    """
    addresses = _parse_peers(peers)
    missing = [host for host in cluster.hosts if host not in addresses]
    if missing:
        raise ContractError(
            f"{PEERS_VARIABLE} has no address for {', '.join(missing)}. Give one for each of "
            f"{', '.join(cluster.hosts)}."
        )
    chief_address, chief_port = addresses[cluster.chief]
    return Rendezvous(
        chief_address=chief_address,
        chief_port=chief_port,
        local_address=addresses[cluster.current_host][0],
    )


def named_rendezvous(cluster: Cluster) -> Rendezvous:
    """Take the hosts' own names, which DNS resolves, and the fixed port."""
    return Rendezvous(
        chief_address=cluster.chief,
        chief_port=MASTER_PORT,
        local_address=cluster.current_host,
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


def _parse_peers(text: str) -> dict[str, tuple[str, int]]:
    try:
        peers = json.loads(text)
        pairs = {host: peer.rpartition(":") for host, peer in peers.items()}
        return {host: (address, int(port)) for host, (address, _, port) in pairs.items()}
    except (ValueError, AttributeError):
        raise ContractError(
            f'{PEERS_VARIABLE} is {text!r}. Give a JSON object of host -> "address:port", '
            '{"algo-1": "127.0.0.1:7777"}, or unset it to use DNS.'
        ) from None
