"""Rules of security groups: for what goes out, and for protocols without ports."""

import functools
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar, Final

from moto.core.common_models import CloudFormationModel
from moto.ec2.exceptions import InvalidRouteTableIdError
from moto.ec2.models import EC2Backend, ec2_backends
from moto.ec2.models.flow_logs import FlowLogs
from moto.ec2.models.route_tables import RouteTable
from moto.ec2.models.vpcs import VPCEndPoint

from evenshard.emulator.cloudformation.resource import Deployed

_NO_PORT: Final = -1
"""As EC2 writes it."""


class SecurityGroupEgressResource(Deployed, CloudFormationModel):
    """A rule that is no part of its group, since it names the group itself."""

    TYPE: ClassVar[str] = "AWS::EC2::SecurityGroupEgress"
    PROPERTIES: ClassVar[frozenset[str]] = frozenset(
        {
            "CidrIp",
            "Description",
            "DestinationPrefixListId",
            "DestinationSecurityGroupId",
            "FromPort",
            "GroupId",
            "IpProtocol",
            "ToPort",
        }
    )

    def create(self) -> None:
        """Add the rule."""
        self._backend().authorize_security_group_egress(**self._rule())

    def remove(self) -> None:
        """Take the rule away, unless its group went first: moto deletes in any order."""
        if self._backend().get_security_group_from_id(self.properties["GroupId"]) is None:
            return
        self._backend().revoke_security_group_egress(**self._rule())

    def _rule(self) -> dict[str, Any]:
        given = self.properties
        target = given.get("DestinationSecurityGroupId")
        prefix_list = given.get("DestinationPrefixListId")
        return {
            "group_name_or_id": given["GroupId"],
            "ip_protocol": given["IpProtocol"],
            "from_port": given.get("FromPort"),
            "to_port": given.get("ToPort"),
            "ip_ranges": [{"CidrIp": given["CidrIp"]}] if "CidrIp" in given else [],
            "source_groups": [{"GroupId": target}] if target else [],
            "prefix_list_ids": [{"PrefixListId": prefix_list}] if prefix_list else [],
        }

    def _backend(self) -> EC2Backend:
        return ec2_backends[self.place.account][self.place.region]


def allow_rules_without_ports() -> None:
    """Let rules of protocols that have no ports leave them out: moto 5.2.5 answers 500 to that."""
    for name in (
        "authorize_security_group_egress",
        "authorize_security_group_ingress",
        "revoke_security_group_egress",
        "revoke_security_group_ingress",
    ):
        setattr(EC2Backend, name, _without_ports(getattr(EC2Backend, name)))


def _without_ports(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(self: EC2Backend, *given: Any, **named: Any) -> Any:  # noqa: ANN401 - moto's
        for port in ("from_port", "to_port"):
            if port in named and named[port] is None:
                named[port] = _NO_PORT
        return method(self, *given, **named)

    return call


def let_networks_go() -> None:
    """Delete with a stack what moto 5.2.5 leaves behind, so that the VPC can go as well."""

    def delete_table(self: RouteTable, account: str, region: str) -> None:
        ec2_backends[account][region].delete_route_table(self.id)

    def delete_endpoint(self: VPCEndPoint, account: str, region: str) -> None:
        # moto deletes in any order: a route may have gone with its table.
        with suppress(InvalidRouteTableIdError):
            ec2_backends[account][region].delete_vpc_endpoints([self.id])

    def delete_flow_log(self: FlowLogs, account: str, region: str) -> None:
        ec2_backends[account][region].delete_flow_logs([self.id])

    RouteTable.delete = delete_table  # type: ignore[attr-defined] # moto asks for it, and has none
    VPCEndPoint.delete = delete_endpoint  # type: ignore[attr-defined] # the same
    FlowLogs.delete = delete_flow_log  # type: ignore[attr-defined] # the same
