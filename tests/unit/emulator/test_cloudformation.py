"""The resource types that moto lacks, deployed, changed and deleted through the API."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from botocore.exceptions import ClientError
from moto.sagemaker.models import sagemaker_backends

from evenshard.simulator.deployment.resources import ACCOUNT, REGION
from tests.unit.emulator.conftest import Connect

_DEFINITION = {"Version": "2020-12-01", "Parameters": [], "Steps": []}
_ROLE = "arn:aws:iam::123456789012:role/pipeline"
_ALARM = {
    "AlarmName": "failed",
    "Namespace": "Evenshard",
    "MetricName": "Refused",
    "ComparisonOperator": "GreaterThanOrEqualToThreshold",
    "EvaluationPeriods": 1,
    "Period": 300,
    "Threshold": 1,
    "Statistic": "Sum",
    "TreatMissingData": "notBreaching",
}


def _pipeline(name: str = "train", **definition: object) -> dict[str, Any]:
    body = json.dumps({**_DEFINITION, **definition})
    return {
        "Type": "AWS::SageMaker::Pipeline",
        "Properties": {
            "PipelineName": name,
            "RoleArn": _ROLE,
            "PipelineDefinition": {"PipelineDefinitionBody": body},
        },
    }


def _resource(kind: str, **properties: object) -> dict[str, Any]:
    return {"Type": kind, "Properties": properties}


def _create(connect: Connect, stack: str, resources: Mapping[str, Any]) -> None:
    connect("cloudformation").create_stack(
        StackName=stack, TemplateBody=json.dumps({"Resources": resources})
    )


def _update(connect: Connect, stack: str, resources: Mapping[str, Any]) -> None:
    connect("cloudformation").update_stack(
        StackName=stack, TemplateBody=json.dumps({"Resources": resources})
    )


def test_an_unknown_type_fails_by_name_and_nothing_is_made(connect: Connect) -> None:
    resources = {
        "Bucket": _resource("AWS::S3::Bucket", BucketName="of-a-refused-stack"),
        "Domain": _resource("AWS::SageMaker::Domain", DomainName="none"),
    }
    with pytest.raises(ClientError, match="no resource type AWS::SageMaker::Domain"):
        _create(connect, "refused", resources)
    names = [one["Name"] for one in connect("s3").list_buckets()["Buckets"]]
    assert "of-a-refused-stack" not in names


def test_an_update_with_an_unknown_type_fails_by_name_and_changes_nothing(connect: Connect) -> None:
    _create(connect, "grows", {"Pipeline": _pipeline("grows")})
    changed = {
        "Pipeline": _pipeline("grows", Metadata={"changed": "yes"}),
        "Domain": _resource("AWS::SageMaker::Domain", DomainName="none"),
    }
    with pytest.raises(ClientError, match="no resource type AWS::SageMaker::Domain"):
        _update(connect, "grows", changed)
    described = connect("sagemaker").describe_pipeline(PipelineName="grows")
    assert json.loads(described["PipelineDefinition"]) == _DEFINITION


def test_a_pipeline_is_made_changed_and_deleted(connect: Connect) -> None:
    sagemaker = connect("sagemaker")
    _create(connect, "pipeline", {"Pipeline": _pipeline()})
    assert sagemaker.describe_pipeline(PipelineName="train")["RoleArn"] == _ROLE

    changed: dict[str, Any] = {"Version": "2020-12-01", "Metadata": {"x": "y"}}
    _update(connect, "pipeline", {"Pipeline": _pipeline(**changed)})
    described = sagemaker.describe_pipeline(PipelineName="train")
    assert json.loads(described["PipelineDefinition"]) == {**_DEFINITION, **changed}

    _update(connect, "pipeline", {"Pipeline": _pipeline("renamed")})
    names = [one["PipelineName"] for one in sagemaker.list_pipelines()["PipelineSummaries"]]
    assert "renamed" in names
    assert "train" not in names

    connect("cloudformation").delete_stack(StackName="pipeline")
    names = [one["PipelineName"] for one in sagemaker.list_pipelines()["PipelineSummaries"]]
    assert "renamed" not in names


def test_a_definition_that_is_no_json_is_refused(connect: Connect) -> None:
    broken = _pipeline("broken")
    broken["Properties"]["PipelineDefinition"]["PipelineDefinitionBody"] = "{"
    with pytest.raises(ClientError, match="broken: the definition is no JSON: "):
        _create(connect, "broken", {"Pipeline": broken})


def test_a_group_with_versions_is_not_deleted(connect: Connect) -> None:
    sagemaker, cloudformation = connect("sagemaker"), connect("cloudformation")
    group = _resource("AWS::SageMaker::ModelPackageGroup", ModelPackageGroupName="models")
    _create(connect, "group", {"Group": group})
    [resource] = cloudformation.list_stack_resources(StackName="group")["StackResourceSummaries"]
    described = sagemaker.describe_model_package_group(ModelPackageGroupName="models")
    assert resource["PhysicalResourceId"] == described["ModelPackageGroupArn"]

    sagemaker.create_model_package(ModelPackageGroupName="models")
    cloudformation.delete_stack(StackName="group")
    [stack] = cloudformation.describe_stacks(StackName="group")["Stacks"]
    assert stack["StackStatus"] == "DELETE_FAILED"
    events = cloudformation.describe_stack_events(StackName="group")["StackEvents"]
    [reason] = [
        one["ResourceStatusReason"] for one in events if one["ResourceStatus"] == "DELETE_FAILED"
    ]
    assert "models holds 1 model package(s)" in reason
    assert sagemaker.list_model_package_groups()["ModelPackageGroupSummaryList"] != []
    sagemaker_backends[ACCOUNT][REGION].model_packages.clear()  # moto has no DeleteModelPackage
    cloudformation.delete_stack(StackName="group")
    with pytest.raises(ClientError, match="does not exist"):
        cloudformation.list_stack_resources(StackName="group")
    assert sagemaker.list_model_package_groups()["ModelPackageGroupSummaryList"] == []


def test_policies_are_put_where_they_belong(connect: Connect) -> None:
    statement = {
        "Effect": "Deny",
        "Principal": "*",
        "Action": "*",
        "Resource": "*",
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    document = {"Version": "2012-10-17", "Statement": [statement]}
    resources = {
        "Bucket": _resource("AWS::S3::Bucket", BucketName="with-policy"),
        "BucketPolicy": _resource(
            "AWS::S3::BucketPolicy", Bucket={"Ref": "Bucket"}, PolicyDocument=document
        ),
        "Topic": _resource("AWS::SNS::Topic", TopicName="with-policy"),
        "TopicPolicy": _resource(
            "AWS::SNS::TopicPolicy", Topics=[{"Ref": "Topic"}], PolicyDocument=document
        ),
        "Queue": _resource("AWS::SQS::Queue", QueueName="with-policy"),
        "QueuePolicy": _resource(
            "AWS::SQS::QueuePolicy", Queues=[{"Ref": "Queue"}], PolicyDocument=document
        ),
    }
    _create(connect, "policies", resources)
    s3, sns, sqs = connect("s3"), connect("sns"), connect("sqs")
    assert json.loads(s3.get_bucket_policy(Bucket="with-policy")["Policy"]) == document
    arn = "arn:aws:sns:us-east-1:123456789012:with-policy"
    topic = sns.get_topic_attributes(TopicArn=arn)["Attributes"]
    assert json.loads(topic["Policy"]) == document
    url = sqs.get_queue_url(QueueName="with-policy")["QueueUrl"]
    queue = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["Policy"])["Attributes"]
    assert json.loads(queue["Policy"]) == document
    # A statement with a condition is not judged, so that requests without TLS pass.
    s3.put_object(Bucket="with-policy", Key="object", Body=b"content")
    s3.delete_object(Bucket="with-policy", Key="object")
    connect("cloudformation").delete_stack(StackName="policies")
    assert "QueueUrls" not in sqs.list_queues(QueueNamePrefix="with-policy")


def test_a_statement_without_condition_is_enforced(connect: Connect) -> None:
    deny = {"Effect": "Deny", "Principal": "*", "Action": "s3:PutObject", "Resource": "*"}
    document = {"Version": "2012-10-17", "Statement": [deny]}
    resources = {
        "Bucket": _resource("AWS::S3::Bucket", BucketName="read-only"),
        "Policy": _resource(
            "AWS::S3::BucketPolicy", Bucket={"Ref": "Bucket"}, PolicyDocument=document
        ),
    }
    _create(connect, "read-only", resources)
    with pytest.raises(ClientError, match="Forbidden"):
        connect("s3").put_object(Bucket="read-only", Key="object", Body=b"content")


def test_alarms_filters_and_budgets_are_made_changed_and_deleted(connect: Connect) -> None:
    cloudwatch, logs, budgets = connect("cloudwatch"), connect("logs"), connect("budgets")
    transformation = {
        "MetricName": "Refused",
        "MetricNamespace": "Evenshard",
        "MetricValue": "1",
        "DefaultValue": 0,
    }
    budget = {"BudgetType": "COST", "TimeUnit": "MONTHLY"}

    def resources(threshold: int, usd: str) -> dict[str, Any]:
        limit = {"Amount": usd, "Unit": "USD"}
        return {
            "Alarm": _resource("AWS::CloudWatch::Alarm", **{**_ALARM, "Threshold": threshold}),
            "Log": _resource("AWS::Logs::LogGroup", LogGroupName="/preflight"),
            "Filter": _resource(
                "AWS::Logs::MetricFilter",
                LogGroupName={"Ref": "Log"},
                FilterPattern="refused",
                MetricTransformations=[transformation],
            ),
            "Budget": _resource(
                "AWS::Budgets::Budget",
                Budget={"BudgetName": "monthly", "BudgetLimit": limit, **budget},
            ),
        }

    _create(connect, "watching", resources(1, "500"))
    _update(connect, "watching", resources(2, "900"))
    [alarm] = cloudwatch.describe_alarms(AlarmNames=["failed"])["MetricAlarms"]
    assert (alarm["Threshold"], alarm["TreatMissingData"]) == (2, "notBreaching")
    [found] = logs.describe_metric_filters(logGroupName="/preflight")["metricFilters"]
    assert found["metricTransformations"][0]["metricName"] == "Refused"
    [made] = budgets.describe_budgets(AccountId="123456789012")["Budgets"]
    assert float(made["BudgetLimit"]["Amount"]) == 900
    connect("cloudformation").delete_stack(StackName="watching")
    assert not cloudwatch.describe_alarms(AlarmNames=["failed"])["MetricAlarms"]
    assert not budgets.describe_budgets(AccountId="123456789012").get("Budgets")


def test_a_group_may_name_itself_in_a_rule_for_what_goes_out(connect: Connect) -> None:
    ec2 = connect("ec2")
    resources = {
        "Vpc": _resource("AWS::EC2::VPC", CidrBlock="10.9.0.0/20"),
        "Group": _resource(
            "AWS::EC2::SecurityGroup", GroupDescription="hosts", VpcId={"Ref": "Vpc"}
        ),
        "Out": _resource(
            "AWS::EC2::SecurityGroupEgress",
            GroupId={"Fn::GetAtt": ["Group", "GroupId"]},
            IpProtocol="udp",
            FromPort=500,
            ToPort=500,
            DestinationSecurityGroupId={"Fn::GetAtt": ["Group", "GroupId"]},
        ),
    }
    _create(connect, "network", resources)
    found = ec2.describe_security_groups(Filters=[{"Name": "description", "Values": ["hosts"]}])
    [group] = found["SecurityGroups"]
    rules = [one for one in group["IpPermissionsEgress"] if one["IpProtocol"] == "udp"]
    assert [rule["UserIdGroupPairs"][0]["GroupId"] for rule in rules] == [group["GroupId"]]
