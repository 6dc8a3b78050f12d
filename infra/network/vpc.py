"""A VPC without a way to the internet."""

from aws_cdk import Aws, CfnTag, Fn, Stack
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from infra.access.flow_logs import FlowLogRole
from infra.logs import own_log_group
from infra.network.settings import NewNetwork


class IsolatedVpc(Construct):
    """One subnet in each zone, one route table without routes, a record of every connection."""

    def __init__(self, scope: Construct, construct_id: str, *, settings: NewNetwork) -> None:
        super().__init__(scope, construct_id)
        self._name = f"{Stack.of(self).stack_name}-vpc"
        self.vpc_id = ec2.CfnVPC(
            self,
            "Vpc",
            cidr_block=settings.cidr,
            enable_dns_hostnames=True,
            enable_dns_support=True,
            tags=[CfnTag(key="Name", value=self._name)],
        ).ref
        self.route_table_id = ec2.CfnRouteTable(self, "Routes", vpc_id=self.vpc_id).ref
        self.subnet_ids = [
            self._subnet(zone, cidr) for zone, cidr in enumerate(settings.subnet_cidrs)
        ]
        self._record_connections(settings)

    def _subnet(self, zone: int, cidr: str) -> str:
        subnet_id = ec2.CfnSubnet(
            self,
            f"Subnet{zone + 1}",
            vpc_id=self.vpc_id,
            cidr_block=cidr,
            availability_zone=Fn.select(zone, Fn.get_azs(Aws.REGION)),
            map_public_ip_on_launch=False,
            tags=[CfnTag(key="Name", value=f"{self._name}-{zone + 1}")],
        ).ref
        ec2.CfnSubnetRouteTableAssociation(
            self,
            f"Subnet{zone + 1}Routes",
            subnet_id=subnet_id,
            route_table_id=self.route_table_id,
        )
        return subnet_id

    def _record_connections(self, settings: NewNetwork) -> None:
        log_group = own_log_group(self, "FlowLogs", days=settings.flow_log_days)
        ec2.CfnFlowLog(
            self,
            "FlowLog",
            resource_id=self.vpc_id,
            resource_type="VPC",
            traffic_type="ALL",
            log_destination_type="cloud-watch-logs",
            log_group_name=log_group.log_group_name,
            deliver_logs_permission_arn=FlowLogRole(
                self, "FlowLogRole", log_group=log_group
            ).role.role_arn,
        )
