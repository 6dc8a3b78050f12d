"""Where moto's CloudFormation is corrected: each test fails on moto alone."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.unit.emulator.conftest import Connect
from tests.unit.emulator.tiny_pipelines import LAMBDA_TRUST

_BLOCK = {
    "BlockPublicAcls": True,
    "BlockPublicPolicy": True,
    "IgnorePublicAcls": True,
    "RestrictPublicBuckets": True,
}


def _resource(kind: str, **properties: object) -> dict[str, Any]:
    return {"Type": kind, "Properties": properties}


def _create(connect: Connect, name: str, resources: Mapping[str, Any], **more: object) -> None:
    body = json.dumps({"Resources": resources, **more})
    connect("cloudformation").create_stack(StackName=name, TemplateBody=body)


def _bucket(days: int, **more: object) -> dict[str, Any]:
    rule = {"Id": "expire", "Prefix": "old/", "Status": "Enabled", "ExpirationInDays": days}
    marks = {"Id": "marks", "Status": "Enabled", "ExpiredObjectDeleteMarker": True}
    return _resource(
        "AWS::S3::Bucket",
        BucketName="hardened",
        VersioningConfiguration={"Status": "Enabled"},
        PublicAccessBlockConfiguration=_BLOCK,
        LifecycleConfiguration={"Rules": [rule, marks]},
        LoggingConfiguration={"LogFilePrefix": "self/"},
        **more,
    )


def test_a_bucket_is_made_and_changed_as_its_template_says(connect: Connect) -> None:
    s3 = connect("s3")
    _create(connect, "bucket", {"Bucket": _bucket(7)})
    assert s3.get_bucket_versioning(Bucket="hardened")["Status"] == "Enabled"
    access = s3.get_public_access_block(Bucket="hardened")["PublicAccessBlockConfiguration"]
    assert access == _BLOCK
    logging = s3.get_bucket_logging(Bucket="hardened")["LoggingEnabled"]
    assert (logging["TargetBucket"], logging["TargetPrefix"]) == ("hardened", "self/")
    body = json.dumps({"Resources": {"Bucket": _bucket(9)}})
    connect("cloudformation").update_stack(StackName="bucket", TemplateBody=body)
    [rule, marks] = s3.get_bucket_lifecycle_configuration(Bucket="hardened")["Rules"]
    assert rule["Expiration"] == {"Days": 9}
    assert rule["Filter"] == {"Prefix": "old/"}
    assert marks["Expiration"] == {"ExpiredObjectDeleteMarker": True}


def test_a_property_of_a_bucket_that_would_be_dropped_is_refused(connect: Connect) -> None:
    with pytest.raises(ClientError, match="AWS::S3::Bucket has no ObjectLockEnabled"):
        _create(connect, "locked", {"Bucket": _bucket(7, ObjectLockEnabled=True)})


def test_a_property_of_an_added_type_that_would_be_dropped_is_refused(connect: Connect) -> None:
    subscription = _resource(
        "AWS::SNS::Subscription",
        TopicArn="arn:aws:sns:us-east-1:123456789012:none",
        Protocol="email",
        Endpoint="a@example.com",
        FilterPolicy={},
    )
    with pytest.raises(ClientError, match="AWS::SNS::Subscription has no FilterPolicy"):
        _create(connect, "filtered", {"Subscription": subscription})


def test_the_policy_of_a_key_can_be_read(connect: Connect) -> None:
    statement = {
        "Effect": "Allow",
        "Principal": {"AWS": "arn:aws:iam::123456789012:root"},
        "Action": "kms:*",
        "Resource": "*",
    }
    policy = {"Version": "2012-10-17", "Statement": [statement]}
    key = _resource("AWS::KMS::Key", KeyPolicy=policy, EnableKeyRotation=True)
    alias = _resource("AWS::KMS::Alias", AliasName="alias/mine", TargetKeyId={"Ref": "Key"})
    _create(connect, "key", {"Key": key, "Alias": alias})
    kms = connect("kms")
    described = kms.describe_key(KeyId="alias/mine")["KeyMetadata"]
    found = kms.get_key_policy(KeyId=described["KeyId"], PolicyName="default")["Policy"]
    assert json.loads(found) == policy


def test_the_policy_of_a_role_is_json(connect: Connect) -> None:
    allow = {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}
    policy = {"Version": "2012-10-17", "Statement": [allow]}
    role = _resource(
        "AWS::IAM::Role",
        RoleName="reader",
        AssumeRolePolicyDocument=LAMBDA_TRUST,
        Policies=[{"PolicyName": "read", "PolicyDocument": policy}],
    )
    _create(connect, "role", {"Role": role})
    found = connect("iam").get_role_policy(RoleName="reader", PolicyName="read")
    assert found["PolicyDocument"] == policy


def test_the_arn_of_a_log_group_is_that_of_its_streams(connect: Connect) -> None:
    log = _resource("AWS::Logs::LogGroup", LogGroupName="/streams")
    outputs = {"Arn": {"Value": {"Fn::GetAtt": ["Log", "Arn"]}}}
    _create(connect, "streams", {"Log": log}, Outputs=outputs)
    [stack] = connect("cloudformation").describe_stacks(StackName="streams")["Stacks"]
    assert stack["Outputs"][0]["OutputValue"].endswith(":log-group:/streams:*")


def test_a_parameter_may_keep_its_default(connect: Connect) -> None:
    cloudformation = connect("cloudformation")
    parameters = {"Name": {"Type": "String", "Default": "by-default"}}

    def topic(display: str) -> dict[str, Any]:
        return {
            "Topic": _resource("AWS::SNS::Topic", TopicName={"Ref": "Name"}, DisplayName=display)
        }

    _create(connect, "parameter", topic("one"), Parameters=parameters)
    cloudformation.update_stack(
        StackName="parameter",
        TemplateBody=json.dumps({"Resources": topic("two"), "Parameters": parameters}),
        Parameters=[{"ParameterKey": "Name", "UsePreviousValue": True}],
    )
    arn = "arn:aws:sns:us-east-1:123456789012:by-default"
    attributes = connect("sns").get_topic_attributes(TopicArn=arn)["Attributes"]
    assert attributes["DisplayName"] == "two"


def test_an_update_exports_what_its_template_does(connect: Connect) -> None:
    cloudformation = connect("cloudformation")
    topic = {"Topic": _resource("AWS::SNS::Topic", TopicName="exporting")}

    def outputs(name: str) -> dict[str, Any]:
        return {"Arn": {"Value": {"Ref": "Topic"}, "Export": {"Name": name}}}

    _create(connect, "exporting", topic, Outputs=outputs("former"))
    body = json.dumps({"Resources": topic, "Outputs": outputs("latter")})
    cloudformation.update_stack(StackName="exporting", TemplateBody=body)
    names = {one["Name"] for one in cloudformation.list_exports()["Exports"]}
    assert "latter" in names
    assert "former" not in names


def test_a_network_is_made_and_goes_as_a_whole(connect: Connect) -> None:
    vpc, group = {"Ref": "Vpc"}, {"Fn::GetAtt": ["Group", "GroupId"]}
    zone = {"Fn::Select": [0, {"Fn::GetAZs": {"Ref": "AWS::Region"}}]}
    esp = {"GroupId": group, "IpProtocol": "50"}
    resources = {
        "Vpc": _resource("AWS::EC2::VPC", CidrBlock="10.8.0.0/20"),
        "Subnet": _resource(
            "AWS::EC2::Subnet", VpcId=vpc, CidrBlock="10.8.0.0/24", AvailabilityZone=zone
        ),
        "Table": _resource("AWS::EC2::RouteTable", VpcId=vpc),
        "Association": _resource(
            "AWS::EC2::SubnetRouteTableAssociation",
            RouteTableId={"Ref": "Table"},
            SubnetId={"Ref": "Subnet"},
        ),
        "Endpoint": _resource(
            "AWS::EC2::VPCEndpoint",
            VpcId=vpc,
            ServiceName="com.amazonaws.us-east-1.s3",
            RouteTableIds=[{"Ref": "Table"}],
            VpcEndpointType="Gateway",
        ),
        "Group": _resource("AWS::EC2::SecurityGroup", GroupDescription="whole", VpcId=vpc),
        "In": _resource("AWS::EC2::SecurityGroupIngress", SourceSecurityGroupId=group, **esp),
        "Out": _resource("AWS::EC2::SecurityGroupEgress", DestinationSecurityGroupId=group, **esp),
    }
    ec2, before = connect("ec2"), _networks(connect)
    _create(connect, "whole", resources)
    [subnet] = ec2.describe_subnets(Filters=[{"Name": "cidr-block", "Values": ["10.8.0.0/24"]}])[
        "Subnets"
    ]
    assert subnet["AvailabilityZone"] == "us-east-1a"
    [made] = ec2.describe_security_groups(Filters=[{"Name": "description", "Values": ["whole"]}])[
        "SecurityGroups"
    ]
    assert "50" in {rule["IpProtocol"] for rule in made["IpPermissions"]}
    assert "50" in {rule["IpProtocol"] for rule in made["IpPermissionsEgress"]}
    connect("cloudformation").delete_stack(StackName="whole")
    assert _networks(connect) == before


def _networks(connect: Connect) -> set[str]:
    return {one["VpcId"] for one in connect("ec2").describe_vpcs()["Vpcs"]}


def test_a_stack_that_cannot_be_deleted_keeps_what_is_left_of_it(connect: Connect) -> None:
    s3, cloudformation = connect("s3"), connect("cloudformation")
    resources = {
        "Empty": _resource("AWS::SQS::Queue", QueueName="goes-first"),
        "Full": _resource("AWS::S3::Bucket", BucketName="full"),
    }
    export = {"Value": {"Ref": "Empty"}, "Export": {"Name": "queue"}}
    _create(connect, "lasting", resources, Outputs={"Queue": export})
    s3.put_object(Bucket="full", Key="key", Body=b"x")
    cloudformation.delete_stack(StackName="lasting")
    [stack] = cloudformation.describe_stacks(StackName="lasting")["Stacks"]
    assert stack["StackStatus"] == "DELETE_FAILED"
    [left] = cloudformation.list_stack_resources(StackName="lasting")["StackResourceSummaries"]
    assert left["LogicalResourceId"] == "Full"
    assert connect("sqs").list_queues().get("QueueUrls", []) == []
    s3.delete_object(Bucket="full", Key="key")
    cloudformation.delete_stack(StackName="lasting")
    with pytest.raises(ClientError, match="does not exist"):
        cloudformation.describe_stacks(StackName="lasting")
    assert "full" not in [one["Name"] for one in s3.list_buckets()["Buckets"]]
    assert "queue" not in [one["Name"] for one in cloudformation.list_exports()["Exports"]]
