"""How SageMaker puts the hosts of a job into a VPC: with the job's role."""

from aws_cdk import Stack
from aws_cdk import aws_iam as iam

from infra.access.statements import finding, policy
from infra.pipeline.deployment import JobNetwork

_DESCRIBE = (
    "ec2:DescribeDhcpOptions",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSubnets",
    "ec2:DescribeVpcs",
)


def network_interface_policy(stack: Stack, network: JobNetwork) -> iam.PolicyDocument:
    """Interfaces in these subnets, with this security group. Source: docs/facts.md 8."""
    subnets = [_ec2_arn(stack, "subnet", one) for one in network.subnet_ids]
    interfaces = _ec2_arn(stack, "network-interface", "*")
    document = policy(
        {
            **{subnet: ["ec2:CreateNetworkInterface"] for subnet in subnets},
            _ec2_arn(stack, "security-group", network.security_group_id): [
                "ec2:CreateNetworkInterface"
            ],
            interfaces: [
                "ec2:CreateNetworkInterface",
                "ec2:DeleteNetworkInterface",
                "ec2:DeleteNetworkInterfacePermission",
            ],
            "*": _DESCRIBE,
        }
    )
    document.add_statements(
        iam.PolicyStatement(
            actions=["ec2:CreateNetworkInterfacePermission"],
            resources=[interfaces],
            conditions={"ArnEquals": {"ec2:Subnet": subnets}},
        )
    )
    return document


def network_interface_reasons(stack: Stack) -> dict[str, str]:
    """Why its findings are right."""
    return {
        finding(stack, "ec2", "network-interface/*"): (
            "EC2 names the interfaces that are made for a job."
        )
    }


def _ec2_arn(stack: Stack, resource: str, name: str) -> str:
    return stack.format_arn(service="ec2", resource=resource, resource_name=name)
