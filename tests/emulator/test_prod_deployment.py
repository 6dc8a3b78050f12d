"""The stacks of prod, with their own network and triggers, deployed and destroyed."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from evenshard.emulator.server import Emulator
from tests.emulator.cdk_app import CdkApp, cdk_app
from tests.emulator.deployed import Deployed, everything

pytestmark = pytest.mark.timeout(300)  # the first test bootstraps and deploys
_PIPELINES = ("evenshard-prod-pytorch", "evenshard-prod-tensorflow")


@dataclass(frozen=True, kw_only=True)
class Prod:
    """What stands there."""

    server: Emulator
    app: CdkApp
    deployed: Deployed
    before: set[str]

    def physical_id(self, kind: str, name: str = "") -> str:
        [found] = [
            one.physical_id for one in self.deployed.resources(kind) if name in one.logical_id
        ]
        return found


@pytest.fixture(scope="module")
def prod(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prod]:
    with Emulator() as server:
        app = cdk_app(tmp_path_factory.mktemp("prod"), server)
        app.bootstrap()
        before = everything(server)
        assert app.deploy("prod").count("✅") == 4
        deployed = Deployed(server=server, assembly=app.assembly)
        yield Prod(server=server, app=app, deployed=deployed, before=before)


def test_training_runs_in_the_isolated_subnets(prod: Prod) -> None:
    ec2 = prod.server.client("ec2")
    vpc = prod.physical_id("AWS::EC2::VPC")
    of_vpc = [{"Name": "vpc-id", "Values": [vpc]}]
    subnets = {one["SubnetId"] for one in ec2.describe_subnets(Filters=of_vpc)["Subnets"]}
    group = prod.physical_id("AWS::EC2::SecurityGroup", "JobsGroup")
    for pipeline in _PIPELINES:
        found = _step(prod, pipeline, "Train")["VpcConfig"]
        assert set(found["Subnets"]) == subnets
        assert found["SecurityGroupIds"] == [group]
    assert len(subnets) == 3
    gateways = ec2.describe_internet_gateways()["InternetGateways"]
    assert not any(one["VpcId"] == vpc for gateway in gateways for one in gateway["Attachments"])


def test_hosts_of_a_job_reach_each_other_and_the_endpoints(prod: Prod) -> None:
    ec2 = prod.server.client("ec2")
    jobs = prod.physical_id("AWS::EC2::SecurityGroup", "JobsGroup")
    [group] = ec2.describe_security_groups(GroupIds=[jobs])["SecurityGroups"]
    for rules in (group["IpPermissions"], group["IpPermissionsEgress"]):
        among_themselves = {
            rule["IpProtocol"]
            for rule in rules
            if [pair["GroupId"] for pair in rule["UserIdGroupPairs"]] == [jobs]
        }
        assert among_themselves == {"-1", "udp", "50"}
    vpc = [{"Name": "vpc-id", "Values": [prod.physical_id("AWS::EC2::VPC")]}]
    services = {
        one["ServiceName"].partition("us-east-1.")[2]
        for one in ec2.describe_vpc_endpoints(Filters=vpc)["VpcEndpoints"]
    }
    assert services == {"ecr.api", "ecr.dkr", "kms", "logs", "monitoring", "s3"}


def test_a_data_set_starts_both_pipelines_and_lost_starts_are_kept(prod: Prod) -> None:
    events = prod.server.client("events")
    targets = [
        target
        for rule in events.list_rules()["Rules"]
        for target in events.list_targets_by_rule(Rule=rule["Name"])["Targets"]
    ]
    started = {
        one["Arn"].rpartition("/")[2]: one["DeadLetterConfig"]["Arn"]
        for one in targets
        if ":pipeline/" in one["Arn"]
    }
    assert set(started) == set(_PIPELINES)
    [queue] = set(started.values())
    url = prod.physical_id("AWS::SQS::Queue")
    sqs = prod.server.client("sqs")
    attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    assert attributes["QueueArn"] == queue
    [policy] = [one.properties["PolicyDocument"] for one in _of(prod, "AWS::SQS::QueuePolicy")]
    assert json.loads(attributes["Policy"]) == policy


def test_destroy_leaves_the_data_its_key_and_the_logs_of_access(prod: Prod) -> None:
    """The last test here: it destroys what the others look at."""
    buckets = {one.physical_id for one in _of(prod, "AWS::S3::Bucket")}
    data_key = next(
        one.physical_id for one in _of(prod, "AWS::KMS::Key") if "DataKey" in one.logical_id
    )
    prod.app.destroy()
    left = everything(prod.server) - prod.before
    assert {name for name in left if name.startswith(("bucket ", "key "))} == {
        *(f"bucket {bucket}" for bucket in buckets),
        f"key {data_key}",
    }
    assert left <= {*(f"bucket {bucket}" for bucket in buckets), f"key {data_key}"}


def _of(prod: Prod, kind: str) -> list[Any]:
    return list(prod.deployed.resources(kind))


def _step(prod: Prod, pipeline: str, name: str) -> dict[str, Any]:
    described = prod.server.client("sagemaker").describe_pipeline(PipelineName=pipeline)
    steps = json.loads(described["PipelineDefinition"])["Steps"]
    [arguments] = [one["Arguments"] for one in steps if one["Name"] == name]
    return dict(arguments)
