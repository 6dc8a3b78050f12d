"""Rules of security groups for what goes out."""

from typing import Any, ClassVar

from moto.core.common_models import CloudFormationModel
from moto.ec2.models import EC2Backend, ec2_backends

from evenshard.emulator.cloudformation.resource import Deployed


class SecurityGroupEgressResource(Deployed, CloudFormationModel):
    """A rule that is no part of its group, since it names the group itself."""

    TYPE: ClassVar[str] = "AWS::EC2::SecurityGroupEgress"

    def create(self) -> None:
        """Add the rule."""
        self._backend().authorize_security_group_egress(**self._rule())

    def remove(self) -> None:
        """Take the rule away."""
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
