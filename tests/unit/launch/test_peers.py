import json

import pytest

from training.contract.cluster import Cluster
from training.contract.errors import ContractError
from training.launcher.peers import (
    Endpoint,
    Rendezvous,
    named_rendezvous,
    simulated_rendezvous,
    wait_for_names,
)

CLUSTER = Cluster(hosts=("algo-1", "algo-2"), current_host="algo-2", network_interface_name="eth0")


def endpoints(*given: tuple[str, int]) -> tuple[Endpoint, ...]:
    return tuple(Endpoint(address=address, port=port) for address, port in given)


def test_names_and_fixed_ports() -> None:
    rendezvous = named_rendezvous(CLUSTER, first_port=8890, ranks_per_host=2)
    assert rendezvous == Rendezvous(
        endpoints=endpoints(("algo-1", 8890), ("algo-1", 8891), ("algo-2", 8890), ("algo-2", 8891)),
        first_rank=2,
    )
    assert str(rendezvous.chief) == "algo-1:8890"
    assert str(rendezvous.local) == "algo-2:8890"


def test_peers_replace_both() -> None:
    peers = {"algo-2": ["127.0.0.2:4001", "127.0.0.2:4002"], "algo-1": ["127.0.0.1:4000"] * 3}
    assert simulated_rendezvous(CLUSTER, json.dumps(peers), ranks_per_host=2) == Rendezvous(
        endpoints=endpoints(*[("127.0.0.1", 4000)] * 2, ("127.0.0.2", 4001), ("127.0.0.2", 4002)),
        first_rank=2,
    )


@pytest.mark.parametrize("given", [{}, {"algo-2": ["127.0.0.1:4001"]}])
def test_a_host_without_an_address_per_rank_is_named(given: dict[str, list[str]]) -> None:
    peers = {"algo-1": ["127.0.0.1:4000", "127.0.0.1:4001"], **given}
    with pytest.raises(ContractError, match=r"too few addresses for algo-2\. Give 2, one per rank"):
        simulated_rendezvous(CLUSTER, json.dumps(peers), ranks_per_host=2)


@pytest.mark.parametrize(
    "peers", ["", "[]", '{"algo-1": 4}', '{"algo-1": "127.0.0.1:4"}', '{"algo-1": ["127.0.0.1"]}']
)
def test_malformed_peers_are_refused(peers: str) -> None:
    with pytest.raises(ContractError, match="Give a JSON object of host"):
        simulated_rendezvous(CLUSTER, peers, ranks_per_host=1)


class LateNames:
    """DNS that learns a name only when it was asked for it a few times."""

    def __init__(self, refusals: dict[str, int]) -> None:
        self.refusals = refusals
        self.asked: list[str] = []

    def __call__(self, host: str) -> str:
        self.asked.append(host)
        self.refusals[host] -= 1
        if self.refusals[host] >= 0:
            raise OSError("name or service not known")
        return "10.0.0.1"


def test_waits_for_late_names_and_asks_for_no_name_twice_in_vain() -> None:
    names = LateNames({"algo-1": 0, "algo-2": 3})
    wait_for_names(CLUSTER.hosts, stopped=lambda: False, resolve=names, retry_s=0)
    assert names.asked == ["algo-1", "algo-2", "algo-2", "algo-2", "algo-2"]


def test_gives_up_and_names_the_missing() -> None:
    names = LateNames({"algo-1": 0, "algo-2": 10**9})
    with pytest.raises(ContractError, match=r"no address for algo-2 after 0 s.*security group"):
        wait_for_names(CLUSTER.hosts, stopped=lambda: False, resolve=names, wait_s=0, retry_s=0)


def test_a_stop_ends_the_wait() -> None:
    names = LateNames({"algo-1": 10**9, "algo-2": 10**9})
    wait_for_names(CLUSTER.hosts, stopped=lambda: len(names.asked) >= 4, resolve=names, retry_s=0)
    assert names.asked == ["algo-1", "algo-2"] * 2
