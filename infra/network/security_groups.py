"""Who may talk to whom. Rules stand by themselves, since a group cannot name itself."""

from typing import Any

from aws_cdk import aws_ec2 as ec2
from constructs import Construct

_ANY_PROTOCOL = "-1"
_HTTPS = 443
_IKE = 500
_ESP = "50"


class JobSecurityGroup(Construct):
    """Hosts of a job reach each other on everything, and HTTPS outside; nobody reaches them.

    EFA, which NCCL uses between large instances, wants all traffic to and from the group itself.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, vpc_id: str, encrypt_traffic: bool
    ) -> None:
        super().__init__(scope, construct_id)
        self.group = ec2.CfnSecurityGroup(
            self,
            "Group",
            vpc_id=vpc_id,
            group_description="Hosts of training and evaluation jobs",
            # In a VPC of ours the only route out leads to S3. Its addresses change: any is allowed.
            security_group_egress=[
                ec2.CfnSecurityGroup.EgressProperty(
                    ip_protocol="tcp",
                    from_port=_HTTPS,
                    to_port=_HTTPS,
                    cidr_ip="0.0.0.0/0",
                    description="S3 and the endpoints of other services",
                )
            ],
        )
        self.group_id = self.group.attr_group_id
        self._with_itself("All", "EFA and NCCL", ip_protocol=_ANY_PROTOCOL)
        if encrypt_traffic:
            # Contained in the rules above; named, since encryption fails without them.
            self._with_itself(
                "Ike", "Keys of encryption", ip_protocol="udp", from_port=_IKE, to_port=_IKE
            )
            self._with_itself("Esp", "Encrypted traffic", ip_protocol=_ESP)

    def _with_itself(self, name: str, description: str, **protocol: Any) -> None:  # noqa: ANN401 - CDK's own keywords
        ec2.CfnSecurityGroupIngress(
            self,
            f"From{name}",
            group_id=self.group_id,
            source_security_group_id=self.group_id,
            description=f"{description}, from hosts of the job",
            **protocol,
        )
        ec2.CfnSecurityGroupEgress(
            self,
            f"To{name}",
            group_id=self.group_id,
            destination_security_group_id=self.group_id,
            description=f"{description}, to hosts of the job",
            **protocol,
        )


def endpoint_security_group(
    scope: Construct, construct_id: str, *, vpc_id: str, from_group_id: str
) -> ec2.CfnSecurityGroup:
    """HTTPS from the jobs' hosts, and nothing else."""
    return ec2.CfnSecurityGroup(
        scope,
        construct_id,
        vpc_id=vpc_id,
        group_description="Endpoints of AWS services",
        security_group_ingress=[
            ec2.CfnSecurityGroup.IngressProperty(
                ip_protocol="tcp",
                from_port=_HTTPS,
                to_port=_HTTPS,
                source_security_group_id=from_group_id,
                description="From hosts of jobs",
            )
        ],
        # Without a rule, everything would be allowed out.
        security_group_egress=[
            ec2.CfnSecurityGroup.EgressProperty(
                ip_protocol="icmp",
                from_port=252,
                to_port=86,
                cidr_ip="255.255.255.255/32",
                description="Nothing",
            )
        ],
    )
