"""What is deployed, read through the services' APIs and held against the synthesized templates."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from evenshard.emulator.server import Emulator
from evenshard.simulator.deployment.resources import ACCOUNT, REGION

_PSEUDO = {
    "AWS::AccountId": ACCOUNT,
    "AWS::Partition": "aws",
    "AWS::Region": REGION,
    "AWS::URLSuffix": "amazonaws.com",
}
_ARNS = {
    "AWS::IAM::Role": f"arn:aws:iam::{ACCOUNT}:role/{{}}",
    "AWS::KMS::Key": f"arn:aws:kms:{REGION}:{ACCOUNT}:key/{{}}",
    "AWS::Lambda::Function": f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{{}}",
    "AWS::Logs::LogGroup": f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group:{{}}:*",
    "AWS::S3::Bucket": "arn:aws:s3:::{}",
    "AWS::SQS::Queue": f"arn:aws:sqs:{REGION}:{ACCOUNT}:{{}}",
}
"""What Fn::GetAtt Arn gives, of a physical id."""


@dataclass(frozen=True, kw_only=True)
class Resource:
    """One of a stack's."""

    kind: str
    logical_id: str
    physical_id: str
    properties: Mapping[str, Any]
    """As the template has them, with every name resolved."""


@dataclass(frozen=True, kw_only=True)
class Deployed:
    """The stacks of one environment."""

    server: Emulator
    assembly: Path

    def stacks(self) -> dict[str, str]:
        """Stack name -> template file."""
        artifacts = json.loads((self.assembly / "manifest.json").read_text())["artifacts"]
        return {
            one["properties"]["stackName"]: one["properties"]["templateFile"]
            for one in artifacts.values()
            if one["type"] == "aws:cloudformation:stack"
        }

    def physical_ids(self) -> dict[str, dict[str, str]]:
        """Stack name -> logical id -> physical id."""
        cloudformation = self.server.client("cloudformation")
        found = {}
        for stack in self.stacks():
            pages = cloudformation.get_paginator("list_stack_resources").paginate(StackName=stack)
            found[stack] = {
                one["LogicalResourceId"]: one["PhysicalResourceId"]
                for page in pages
                for one in page["StackResourceSummaries"]
            }
        return found

    def outputs(self) -> dict[str, str]:
        """Of all stacks."""
        described = self.server.client("cloudformation").describe_stacks()["Stacks"]
        return {
            output["OutputKey"]: output["OutputValue"]
            for stack in described
            if stack["StackName"] in self.stacks()
            for output in stack.get("Outputs", ())
        }

    def resources(self, kind: str) -> list[Resource]:
        """All of one type."""
        physical = self.physical_ids()
        exports = self._exports()
        found = []
        for stack, file in self.stacks().items():
            template = json.loads((self.assembly / file).read_text(encoding="utf-8"))
            names = _Names(template=template, physical=physical[stack], exports=exports)
            found += [
                Resource(
                    kind=kind,
                    logical_id=name,
                    physical_id=physical[stack][name],
                    properties=names.resolved(resource.get("Properties", {})),
                )
                for name, resource in template["Resources"].items()
                if resource["Type"] == kind
            ]
        return found

    def _exports(self) -> dict[str, str]:
        pages = self.server.client("cloudformation").get_paginator("list_exports").paginate()
        return {one["Name"]: one["Value"] for page in pages for one in page["Exports"]}


@dataclass(frozen=True, kw_only=True)
class _Names:
    """Resolves the names in one template."""

    template: Mapping[str, Any]
    physical: Mapping[str, str]
    exports: Mapping[str, str]

    def resolved(self, value: Any) -> Any:  # noqa: ANN401 - any value of a template
        """Replace every intrinsic function below a value."""
        if isinstance(value, list):
            return [self.resolved(inner) for inner in value]
        if not isinstance(value, dict):
            return value
        name = next(iter(value), "")
        if len(value) == 1 and (name == "Ref" or name.startswith("Fn::")):
            return self._called(name, value[name])
        return {key: self.resolved(inner) for key, inner in value.items()}

    def _called(self, function: str, operand: Any) -> Any:  # noqa: ANN401 - the same
        match function, operand:
            case "Ref", str(name):
                return _PSEUDO.get(name) or self.physical[name]
            case "Fn::GetAtt", [name, "Arn"]:
                kind = self.template["Resources"][name]["Type"]
                # A queue's physical id is its URL.
                own = self.physical[name].rpartition("/")[2] if "SQS" in kind else None
                return _ARNS[kind].format(own or self.physical[name])
            case "Fn::GetAtt", [name, "GroupId" | "VpcId" | "SubnetId" | "KeyId"]:
                return self.physical[name]
            case "Fn::ImportValue", name:
                return self.exports[name]
            case "Fn::Join", [separator, parts]:
                return separator.join(self.resolved(part) for part in parts)
            case "Fn::Sub", str(text):
                for name, known in _PSEUDO.items():
                    text = text.replace(f"${{{name}}}", known)
                return text
        raise AssertionError(f"{function} of {operand} is not known to these tests")


def everything(server: Emulator) -> set[str]:
    """The name of every resource that there is in the account, of the kinds that we deploy."""
    client = server.client
    groups = client("sagemaker").list_model_package_groups()["ModelPackageGroupSummaryList"]
    aliases = client("kms").list_aliases()["Aliases"]
    names = {
        "alarm": _named(client("cloudwatch").describe_alarms()["MetricAlarms"], "AlarmName"),
        "alias": [
            one["AliasName"] for one in aliases if not one["AliasName"].startswith("alias/aws/")
        ],
        "bucket": _named(client("s3").list_buckets()["Buckets"], "Name"),
        "budget": _named(
            client("budgets").describe_budgets(AccountId=ACCOUNT).get("Budgets", ()), "BudgetName"
        ),
        "dashboard": _named(
            client("cloudwatch").list_dashboards()["DashboardEntries"], "DashboardName"
        ),
        "function": _named(client("lambda").list_functions()["Functions"], "FunctionName"),
        "key": _living_keys(server),
        "log": _named(client("logs").describe_log_groups()["logGroups"], "logGroupName"),
        "metric filter": _named(
            client("logs").describe_metric_filters()["metricFilters"], "filterName"
        ),
        "model package group": _named(groups, "ModelPackageGroupName"),
        "pipeline": _named(
            client("sagemaker").list_pipelines()["PipelineSummaries"], "PipelineName"
        ),
        "queue": client("sqs").list_queues().get("QueueUrls", ()),
        "role": _named(client("iam").list_roles()["Roles"], "RoleName"),
        "rule": _named(client("events").list_rules()["Rules"], "Name"),
        "stack": _named(client("cloudformation").describe_stacks()["Stacks"], "StackName"),
        "topic": _named(client("sns").list_topics()["Topics"], "TopicArn"),
        "vpc": [
            one["VpcId"] for one in client("ec2").describe_vpcs()["Vpcs"] if not one["IsDefault"]
        ],
    }
    return {f"{kind} {name}" for kind, found in names.items() for name in found}


def _named(listed: Any, key: str) -> list[str]:  # noqa: ANN401 - of a boto3 answer
    return [one[key] for one in listed]


def _living_keys(server: Emulator) -> list[str]:
    """Of customers: AWS' own and those about to be deleted aside."""
    kms = server.client("kms")
    described = [
        kms.describe_key(KeyId=one["KeyId"])["KeyMetadata"] for one in kms.list_keys()["Keys"]
    ]
    ours = [
        one["KeyId"]
        for one in described
        if one["KeyState"] == "Enabled" and one["KeyManager"] == "CUSTOMER"
    ]
    return [key for key in ours if not _is_aws_own(server, key)]


def _is_aws_own(server: Emulator, key: str) -> bool:
    """Whether an alias of AWS leads to it; moto calls such keys the customer's."""
    try:
        aliases = server.client("kms").list_aliases(KeyId=key)["Aliases"]
    except ClientError:
        return False
    return any(one["AliasName"].startswith("alias/aws/") for one in aliases)
