"""The table [network] of a settings file."""

import ipaddress
from typing import Annotated, Literal

from pydantic import Field, field_validator

from infra.section import LogDays, NamedOnce, Section

InterfaceService = Literal["ecr.api", "ecr.dkr", "kms", "logs", "monitoring"]

RESERVED_ADDRESSES = 5
"""Of each subnet, for AWS itself."""
ADDRESSES_PER_HOST = 2
ADDRESSES_PER_EFA_HOST = 5
"""Source: docs/facts.md 8."""

_HALVINGS = 2
"""Of a VPC's addresses, for a subnet."""
_PRIVATE = tuple(map(ipaddress.IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))
"""What the VPC user guide recommends. Loopback, link-local and the like are private as well."""
_DOCKER = ipaddress.IPv4Network("172.17.0.0/16")
"""Containers' own network. The VPC user guide names SageMaker among those that it disturbs."""

_ALWAYS_EFA = frozenset(
    {"p4d", "p4de", "p5", "p5e", "p5en", "p6-b200", "p6-b300", "p6e-gb200", "trn1n", "trn2"}
)
_LARGE_WITH_EFA = frozenset({"g4dn", "g5", "g6", "g6e", "gr6", "g7", "g7e"})
"""With a network adapter for EFA from size 8xlarge on. Source: docs/facts.md 8."""
_FIRST_LARGE = 8


class _Network(Section):
    encrypt_traffic: bool
    """Encrypt what training hosts send to each other. Slower where they send much."""


class NoNetwork(_Network):
    """Jobs run in SageMaker's own network."""

    kind: Literal["none"]


class NewNetwork(_Network):
    """A VPC without a way to the internet, made for the jobs."""

    kind: Literal["new"]
    cidr: str
    """Its private IPv4 addresses, /16../24, `10.64.0.0/16` for instance."""
    zones: Annotated[int, Field(ge=1, le=2**_HALVINGS)]
    """Availability zones with a subnet each, 1..4: the region's first ones. Some have two or three.
    Each subnet is a quarter of `cidr`, however many there are."""
    most_hosts: Annotated[int, Field(ge=1, le=1024)]
    """Hosts that may run at a time, over all executions, 1..1024. Each subnet has room for them."""
    interface_endpoints: Annotated[tuple[InterfaceService, ...], Field(strict=False), NamedOnce]
    """Services reached from inside beside S3; each costs money by the hour and zone."""
    flow_log_days: LogDays
    """Days that the record of connections is kept."""

    @field_validator("cidr")
    @classmethod
    def _private(cls, given: str) -> str:
        advice = (
            "Allowed: private addresses with a mask of 16 to 24, '10.64.0.0/16' for instance, in "
            f"{', '.join(map(str, _PRIVATE))}, but not in {_DOCKER}, which SageMaker uses itself."
        )
        try:
            network = ipaddress.IPv4Network(given)
        except ValueError as error:
            raise ValueError(f"{error}. {advice}") from error
        private = any(map(network.subnet_of, _PRIVATE)) and not network.overlaps(_DOCKER)
        # A mask may be written in other ways, but not for AWS.
        if not private or not 16 <= network.prefixlen <= 24 or str(network) != given:  # noqa: PLR2004 - AWS's masks, said in the message
            raise ValueError(f"{given} is not. {advice}")
        return given

    @property
    def subnet_cidrs(self) -> list[str]:
        """One for each zone, each a quarter of `cidr`: a zone more moves no other's subnet."""
        subnets = ipaddress.IPv4Network(self.cidr).subnets(prefixlen_diff=_HALVINGS)
        return [str(subnet) for subnet, _ in zip(subnets, range(self.zones), strict=False)]

    @property
    def addresses_per_subnet(self) -> int:
        """Addresses of one subnet that are left for hosts."""
        size = ipaddress.IPv4Network(self.subnet_cidrs[0]).num_addresses
        return size - RESERVED_ADDRESSES - len(self.interface_endpoints)


class ImportedNetwork(_Network):
    """A VPC that exists. Its owner sees to routes, endpoints and addresses."""

    kind: Literal["imported"]
    vpc_id: Annotated[str, Field(pattern=r"^vpc-([0-9a-f]{8}|[0-9a-f]{17})$")]
    subnet_ids: Annotated[
        tuple[Annotated[str, Field(pattern=r"^subnet-([0-9a-f]{8}|[0-9a-f]{17})$")], ...],
        Field(min_length=1, max_length=16, strict=False),
        NamedOnce,
    ]
    """Of that VPC, 1..16, with a way to S3. SageMaker runs a job in one of them."""


Network = Annotated[NoNetwork | NewNetwork | ImportedNetwork, Field(discriminator="kind")]


def addresses_problem(
    network: NoNetwork | NewNetwork | ImportedNetwork,
    *,
    instance_count: int,
    instance_types: tuple[str, ...],
) -> str | None:
    """What is wrong with the addresses for these training hosts; None where there are enough."""
    if not isinstance(network, NewNetwork):
        return None
    if network.most_hosts < instance_count:
        return (
            f"network.most_hosts is {network.most_hosts}, but training.instance_count is "
            f"{instance_count}. Raise most_hosts: one execution must fit."
        )
    efa = [name for name in instance_types if has_efa(name)]
    each = ADDRESSES_PER_EFA_HOST if efa else ADDRESSES_PER_HOST
    if network.addresses_per_subnet < each * network.most_hosts:
        return (
            f"network.most_hosts is {network.most_hosts}, but a subnet has "
            f"{network.addresses_per_subnet} addresses and a host takes {each}"
            f"{f' (EFA: {efa[0]})' if efa else ''}. Allowed: "
            f"{network.addresses_per_subnet // each} hosts. Widen network.cidr, or lower "
            "most_hosts."
        )
    return None


def has_efa(instance_type: str) -> bool:
    """Whether an instance type like `ml.p4d.24xlarge` has a network adapter for EFA."""
    _, family, size = instance_type.split(".")
    factor = size.removesuffix("xlarge")
    large = factor.isdigit() and int(factor) >= _FIRST_LARGE
    return family in _ALWAYS_EFA or (family in _LARGE_WITH_EFA and large)
