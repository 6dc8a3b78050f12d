"""The table [network], and what it must have in common with [training]."""

from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from infra.network.settings import Network, NewNetwork, addresses_problem, has_efa

NEW = {
    "kind": "new",
    "cidr": "10.0.0.0/20",
    "zones": 3,
    "most_hosts": 16,
    "interface_endpoints": ["logs"],
    "flow_log_days": 30,
    "encrypt_traffic": False,
}
IMPORTED = {
    "kind": "imported",
    "vpc_id": "vpc-0123456789abcdef0",
    "subnet_ids": ["subnet-0123456789abcdef0"],
    "encrypt_traffic": False,
}
CHECKED: TypeAdapter[Network] = TypeAdapter(Network)


def new_network(**changes: object) -> NewNetwork:
    return NewNetwork.model_validate({**NEW, **changes})


@pytest.mark.parametrize(
    ("base", "changes", "key", "said"),
    [
        (NEW, {"kind": "both"}, "", "'none', 'new', 'imported'"),
        (NEW, {"cidr": "10.0.0.0"}, "cidr", "Allowed: private addresses with a mask of 16 to 24"),
        (NEW, {"cidr": "10.0.0.1/16"}, "cidr", "has host bits set"),
        (NEW, {"cidr": "8.8.0.0/16"}, "cidr", "Allowed: private addresses"),
        (NEW, {"cidr": "10.0.0.0/8"}, "cidr", "Allowed: private addresses"),
        (NEW, {"cidr": "10.0.0.0/25"}, "cidr", "Allowed: private addresses"),
        (NEW, {"zones": 0}, "zones", "greater than or equal to 1"),
        (NEW, {"zones": 5}, "zones", "less than or equal to 4"),
        (NEW, {"most_hosts": 0}, "most_hosts", "greater than or equal to 1"),
        (NEW, {"interface_endpoints": ["ec2"]}, "interface_endpoints", "'kms', 'logs'"),
        (NEW, {"flow_log_days": 31}, "flow_log_days", "7, 30, 90, 180 or 365"),
        (NEW, {"encrypt_traffic": "yes"}, "encrypt_traffic", "valid boolean"),
        (NEW, {"nat_gateways": 1}, "nat_gateways", "Extra inputs"),
        (IMPORTED, {"vpc_id": "vpc-x"}, "vpc_id", "match pattern"),
        (IMPORTED, {"subnet_ids": []}, "subnet_ids", "at least 1 item"),
        (IMPORTED, {"subnet_ids": ["net-0"]}, "subnet_ids", "match pattern"),
        (IMPORTED, {"cidr": "10.0.0.0/16"}, "cidr", "Extra inputs"),
    ],
)
def test_refuses_by_key(
    base: Mapping[str, Any], changes: Mapping[str, Any], key: str, said: str
) -> None:
    CHECKED.validate_python(base)
    with pytest.raises(ValidationError) as refused:
        CHECKED.validate_python({**base, **changes})
    found = refused.value.errors()
    assert all(key in [*finding["loc"], ""] for finding in found)
    assert said in found[0]["msg"]


@pytest.mark.parametrize(
    ("cidr", "zones", "subnets"),
    [
        ("10.0.0.0/16", 1, ["10.0.0.0/18"]),
        ("10.0.0.0/16", 2, ["10.0.0.0/18", "10.0.64.0/18"]),
        ("10.0.0.0/24", 3, ["10.0.0.0/26", "10.0.0.64/26", "10.0.0.128/26"]),
    ],
)
def test_a_zone_more_moves_no_other(cidr: str, zones: int, subnets: list[str]) -> None:
    assert new_network(cidr=cidr, zones=zones).subnet_cidrs == subnets


def test_some_addresses_are_taken() -> None:
    # 64, less 5 of AWS and one of each endpoint
    network = new_network(cidr="10.0.0.0/24", zones=4, interface_endpoints=["kms", "logs"])
    assert network.addresses_per_subnet == 57


@pytest.mark.parametrize(
    ("instance_type", "hosts", "enough"),
    [
        ("ml.g5.12xlarge", 11, True),  # 57 addresses, 5 for each host with EFA
        ("ml.g5.12xlarge", 12, False),
        ("ml.g5.4xlarge", 28, True),  # 2 for each without
        ("ml.g5.4xlarge", 29, False),
    ],
)
def test_a_subnet_has_room_for_every_host(instance_type: str, hosts: int, *, enough: bool) -> None:
    network = new_network(
        cidr="10.0.0.0/24", zones=4, interface_endpoints=["kms", "logs"], most_hosts=hosts
    )
    problem = addresses_problem(network, instance_count=2, instance_types=(instance_type,))
    if enough:
        assert problem is None
    else:
        assert problem
        assert "a subnet has 57 addresses" in problem
        assert f"Allowed: {hosts - 1} hosts. Widen network.cidr" in problem


def test_one_execution_must_fit() -> None:
    problem = addresses_problem(
        new_network(most_hosts=1), instance_count=2, instance_types=("ml.g5.xlarge",)
    )
    assert problem
    assert problem.startswith("network.most_hosts is 1, but training.instance_count is 2.")


@pytest.mark.parametrize("kind", [{"kind": "none", "encrypt_traffic": False}, IMPORTED])
def test_addresses_of_others_are_not_counted(kind: Mapping[str, Any]) -> None:
    network = CHECKED.validate_python(kind)
    types = ("ml.p5.48xlarge",)
    assert addresses_problem(network, instance_count=64, instance_types=types) is None


@pytest.mark.parametrize(
    ("instance_type", "efa"),
    [
        ("ml.g5.4xlarge", False),
        ("ml.g5.8xlarge", True),
        ("ml.g6e.48xlarge", True),
        ("ml.p3.2xlarge", False),
        ("ml.p4d.24xlarge", True),
        ("ml.p6-b200.48xlarge", True),
        ("ml.m5.24xlarge", False),
        ("ml.p5.4xlarge", True),
    ],
)
def test_efa_by_instance_type(instance_type: str, *, efa: bool) -> None:
    assert has_efa(instance_type) is efa
