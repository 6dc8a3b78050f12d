"""Where the hosts of jobs are put, and who can reach them."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.synth.conftest import Assembly
from tests.synth.granted_access import grants, resolved_templates, roles
from tests.synth.variants import IMPORTED_NETWORK, NEW_NETWORK, settings_with, synthesized
from training.contract.layout import FRAMEWORKS

pytestmark = pytest.mark.timeout(300)

REACHED_BY = {
    "cloudwatch": {"Monitoring"},
    "ecr": {"EcrApi", "EcrDkr"},
    "kms": {"Kms"},
    "logs": {"Logs"},
    "s3": {"S3"},
    # SageMaker makes network interfaces from outside.
    "ec2": set(),
}
"""Service -> the endpoints that lead to it."""


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """A small new network, traffic in clear."""
    return synthesized(settings_with({"network": NEW_NETWORK}), tmp_path_factory.mktemp("new"))


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    settings = settings_with({"network": IMPORTED_NETWORK})
    return synthesized(settings, tmp_path_factory.mktemp("imported"))


def properties(assembly: Assembly, kind: str) -> list[dict[str, Any]]:
    return [found["Properties"] for found in assembly.resources("Network", kind)]


def rules(assembly: Assembly, direction: str) -> Iterator[tuple[str, int | None, str]]:
    """Protocol, port and the other side of every rule of the jobs' group."""
    other = "SourceSecurityGroupId" if direction == "Ingress" else "DestinationSecurityGroupId"
    for rule in properties(assembly, f"AWS::EC2::SecurityGroup{direction}"):
        assert rule["GroupId"] == rule[other], "a rule between two groups"
        yield rule["IpProtocol"], rule.get("FromPort"), "itself"


def vpc_configs(assembly: Assembly) -> Iterator[dict[str, Any]]:
    for framework in FRAMEWORKS:
        yield assembly.step("Train", framework)["VpcConfig"]
        yield assembly.step("Evaluate", framework)["NetworkConfig"]["VpcConfig"]


def test_a_new_vpc_has_no_way_to_the_internet(prod_assembly: Assembly) -> None:
    kinds = {one["Type"] for one in prod_assembly.template("Network")["Resources"].values()}
    assert "AWS::EC2::VPC" in kinds
    ways_out = ("InternetGateway", "NatGateway", "::Route", "PeeringConnection", "TransitGateway")
    assert not [kind for kind in kinds for way in ways_out if kind.endswith(way)]
    for subnet in properties(prod_assembly, "AWS::EC2::Subnet"):
        assert subnet["MapPublicIpOnLaunch"] is False


def test_each_zone_has_a_subnet_of_its_own(prod_assembly: Assembly) -> None:
    subnets = properties(prod_assembly, "AWS::EC2::Subnet")
    assert [subnet["AvailabilityZone"]["Fn::Select"][0] for subnet in subnets] == [0, 1, 2]
    assert [subnet["CidrBlock"] for subnet in subnets] == [
        "10.64.0.0/18",
        "10.64.64.0/18",
        "10.64.128.0/18",
    ]


def test_every_connection_is_recorded_and_forgotten_in_time(prod_assembly: Assembly) -> None:
    [flow_log] = properties(prod_assembly, "AWS::EC2::FlowLog")
    assert flow_log["TrafficType"] == "ALL"
    assert flow_log["ResourceType"] == "VPC"
    [log_group] = properties(prod_assembly, "AWS::Logs::LogGroup")
    assert log_group["RetentionInDays"] == 90


@pytest.mark.parametrize("direction", ["Ingress", "Egress"])
def test_hosts_reach_each_other_both_ways(
    prod_assembly: Assembly, plain: Assembly, imported: Assembly, direction: str
) -> None:
    # EFA wants all traffic; encryption UDP 500 and ESP (protocol 50). Source: docs/facts.md 4.
    everything, encryption = (
        ("-1", None, "itself"),
        {("udp", 500, "itself"), ("50", None, "itself")},
    )
    assert set(rules(prod_assembly, direction)) == {everything, *encryption}
    assert set(rules(imported, direction)) == {everything, *encryption}
    assert set(rules(plain, direction)) == {everything}


def test_nobody_else_reaches_a_host(prod_assembly: Assembly, imported: Assembly) -> None:
    for assembly in (prod_assembly, imported):
        [jobs] = [
            group
            for group in properties(assembly, "AWS::EC2::SecurityGroup")
            if "jobs" in group["GroupDescription"]
        ]
        assert "SecurityGroupIngress" not in jobs
        [out] = jobs["SecurityGroupEgress"]
        assert (out["IpProtocol"], out["FromPort"], out["ToPort"]) == ("tcp", 443, 443)


def test_endpoints_are_reached_by_hosts_only(prod_assembly: Assembly) -> None:
    [endpoints] = [
        group
        for group in properties(prod_assembly, "AWS::EC2::SecurityGroup")
        if "Endpoints" in group["GroupDescription"]
    ]
    [into] = endpoints["SecurityGroupIngress"]
    assert (into["IpProtocol"], into["FromPort"], into["ToPort"]) == ("tcp", 443, 443)
    assert into["SourceSecurityGroupId"]["Fn::GetAtt"][0].startswith("JobsGroup")
    [out] = endpoints["SecurityGroupEgress"]
    assert out["CidrIp"] == "255.255.255.255/32"


def test_every_service_that_jobs_may_call_has_an_endpoint(prod_assembly: Assembly) -> None:
    jobs = [
        one
        for one in grants(roles(resolved_templates(prod_assembly)))
        if "TrainingRole" in one.role or "EvaluationRole" in one.role
    ]
    services = {one.action.partition(":")[0] for one in jobs} - {"sts"}
    needed = set().union(*(REACHED_BY[service] for service in services))
    assert needed == {"S3", "EcrApi", "EcrDkr", "Kms", "Logs", "Monitoring"}
    found = {
        name
        for name, one in prod_assembly.template("Network")["Resources"].items()
        if one["Type"] == "AWS::EC2::VPCEndpoint"
    }
    assert found == needed


def test_endpoints_serve_this_account_only(prod_assembly: Assembly) -> None:
    endpoints = properties(prod_assembly, "AWS::EC2::VPCEndpoint")
    assert len(endpoints) == 6
    own_account = {"StringEquals": {"aws:PrincipalAccount": {"Ref": "AWS::AccountId"}}}
    open_to_all = []
    for endpoint in endpoints:
        for statement in endpoint["PolicyDocument"]["Statement"]:
            assert "*" not in json.dumps(statement["Action"])
            if statement.get("Condition") != own_account:
                open_to_all.append(json.dumps(statement["Resource"]))
    # The layers of images lie in a bucket of ECR's own account.
    [layers] = open_to_all
    assert "starport-layer-bucket/*" in layers


def test_s3_is_reached_for_our_buckets_only(prod_assembly: Assembly, plain: Assembly) -> None:
    for assembly, statement_count in ((prod_assembly, 2), (plain, 1)):
        [gateway] = [
            one
            for one in properties(assembly, "AWS::EC2::VPCEndpoint")
            if one["VpcEndpointType"] == "Gateway"
        ]
        statements = gateway["PolicyDocument"]["Statement"]
        assert len(statements) == statement_count
        assert "GetAttData666C94C7Arn" in json.dumps(statements[0]["Resource"])
        assert not [one for one in statements if one["Resource"] == "*"]


def test_every_job_of_every_framework_is_inside(prod_assembly: Assembly) -> None:
    exports = {
        output["Export"]["Name"]: json.dumps(output["Value"])
        for output in prod_assembly.template("Network")["Outputs"].values()
    }
    configs = list(vpc_configs(prod_assembly))
    assert len(configs) == 4
    for config in configs:
        [group] = config["SecurityGroupIds"]
        assert "JobsGroup" in exports[group.removeprefix("<Import ").removesuffix(">")]
        assert len(config["Subnets"]) == 3
        assert prod_assembly.step("Train")["EnableInterContainerTrafficEncryption"] is True


def test_an_imported_network_is_left_as_it_is(imported: Assembly) -> None:
    kinds = {one["Type"] for one in imported.template("Network")["Resources"].values()}
    assert kinds == {
        "AWS::EC2::SecurityGroup",
        "AWS::EC2::SecurityGroupIngress",
        "AWS::EC2::SecurityGroupEgress",
    }
    for config in vpc_configs(imported):
        assert config["Subnets"] == ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"]


def test_without_a_network_of_its_own_nothing_is_made(assembly: Assembly) -> None:
    assert not (assembly.path / "Network.template.json").exists()
    assert "VpcConfig" not in assembly.step("Train")
    assert assembly.step("Train")["EnableInterContainerTrafficEncryption"] is False
    assert assembly.step("Evaluate")["NetworkConfig"] == {"EnableNetworkIsolation": True}
