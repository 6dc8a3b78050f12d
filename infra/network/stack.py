"""The network stack; there is none where jobs run in SageMaker's own network."""

from constructs import Construct

from infra.network.endpoints import Place, add_interface, add_s3_gateway
from infra.network.security_groups import JobSecurityGroup, endpoint_security_group
from infra.network.settings import ImportedNetwork, NewNetwork
from infra.network.vpc import IsolatedVpc
from infra.pipeline.deployment import JobNetwork
from infra.settings import Settings
from infra.stack import EnvironmentStack
from infra.storage import StorageStack


class NetworkStack(EnvironmentStack):
    """Where the jobs' hosts are put."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        settings: Settings,
        network: NewNetwork | ImportedNetwork,
        storage: StorageStack,
    ) -> None:
        super().__init__(
            scope, construct_id, settings=settings, description="where the hosts of jobs are put"
        )
        match network:
            case NewNetwork():
                self.jobs = self._new(network, storage)
            case ImportedNetwork():
                self.jobs = JobNetwork(
                    subnet_ids=network.subnet_ids,
                    security_group_id=self._job_group(network.vpc_id, network),
                )

    def _new(self, network: NewNetwork, storage: StorageStack) -> JobNetwork:
        vpc = IsolatedVpc(self, "Isolated", settings=network)
        group_id = self._job_group(vpc.vpc_id, network)
        place = Place(
            vpc_id=vpc.vpc_id,
            subnet_ids=vpc.subnet_ids,
            route_table_id=vpc.route_table_id,
            security_group_id=endpoint_security_group(
                self, "EndpointGroup", vpc_id=vpc.vpc_id, from_group_id=group_id
            ).attr_group_id,
        )
        add_s3_gateway(
            self,
            place,
            bucket_arn=storage.data_bucket.bucket_arn,
            with_layers="ecr.dkr" in network.interface_endpoints,
        )
        for service in network.interface_endpoints:
            add_interface(self, place, service, key_arn=storage.key.key_arn)
        return JobNetwork(subnet_ids=tuple(vpc.subnet_ids), security_group_id=group_id)

    def _job_group(self, vpc_id: str, network: NewNetwork | ImportedNetwork) -> str:
        return JobSecurityGroup(
            self, "Jobs", vpc_id=vpc_id, encrypt_traffic=network.encrypt_traffic
        ).group_id
