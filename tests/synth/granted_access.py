"""What the roles of an assembly may do, read from its templates."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from evenshard.simulator.deployment.intrinsics import Resolver
from tests.synth.conftest import Assembly

Document = dict[str, Any]
Templates = dict[str, Document]
"""Stack name -> template, every reference resolved."""

ASSUME = "sts:AssumeRole"
WITH_ARN = {"AWS::IAM::Role", "AWS::KMS::Key", "AWS::Lambda::Function", "AWS::S3::Bucket"}
LOOKED_AT = {
    *WITH_ARN,
    "AWS::EC2::FlowLog",
    "AWS::Events::Rule",
    "AWS::SageMaker::Pipeline",
}


@dataclass(frozen=True, slots=True, order=True)
class Grant:
    """One action on one resource for one role; or, for `sts:AssumeRole`, who may be it."""

    role: str
    """Its ARN."""
    action: str
    resource: str
    """An ARN; the service where the action is `sts:AssumeRole`."""
    condition: str = ""
    """As JSON, keys sorted; empty where there is none."""


def conditions(given: Mapping[str, Any]) -> str:
    """A policy's condition in the form that `Grant` has: one value is a list of one."""
    listed = {
        operator: {key: sorted(_listed(values)) for key, values in keys.items()}
        for operator, keys in given.items()
    }
    return json.dumps(listed, sort_keys=True) if listed else ""


def resolved_templates(assembly: Assembly) -> Templates:
    """What has to do with access, with names and ARNs in place of references."""
    templates = assembly.templates()
    resolver = Resolver(templates)
    found: Templates = {}
    for stack, template in templates.items():
        resources = {
            name: {
                "Type": resource["Type"],
                "Properties": resolver.resolve(resource.get("Properties", {}), stack, name),
            }
            for name, resource in template["Resources"].items()
            if resource["Type"] in LOOKED_AT
        }
        for name, resource in resources.items():
            if resource["Type"] in WITH_ARN:
                resource["Arn"] = resolver.resolve({"Fn::GetAtt": [name, "Arn"]}, stack, name)
        found[stack] = resources
    return found


def roles(templates: Templates) -> dict[str, Document]:
    """ARN -> properties of every role."""
    return {
        resource["Arn"]: resource["Properties"]
        for resources in templates.values()
        for resource in resources.values()
        if resource["Type"] == "AWS::IAM::Role"
    }


def grants(found: Mapping[str, Document]) -> list[Grant]:
    """Everything that the roles are granted, sorted; an equal grant twice is listed twice.

    Args:
        found: ARN -> properties of a role.

    Raises:
        ValueError: something in a policy whose effect is not plain: a deny, a NotAction, a managed
            policy.
    """
    return sorted(grant for arn, role in found.items() for grant in _of_role(arn, role))


def _of_role(arn: str, role: Document) -> Iterator[Grant]:
    known = {"AssumeRolePolicyDocument", "Description", "Policies", "Tags", "PermissionsBoundary"}
    if set(role) - known:
        raise ValueError(f"{arn} has {set(role) - known}")
    for statement in role["AssumeRolePolicyDocument"]["Statement"]:
        _check(arn, statement, {"Action", "Principal"})
        if set(statement["Principal"]) != {"Service"}:
            raise ValueError(f"{arn} may be assumed by {statement['Principal']}")
        for service in _listed(statement["Principal"]["Service"]):
            for action in _listed(statement["Action"]):
                yield Grant(arn, action, service, conditions(statement.get("Condition", {})))
    for policy in role.get("Policies", []):
        for statement in policy["PolicyDocument"]["Statement"]:
            _check(arn, statement, {"Action", "Resource"})
            for action in _listed(statement["Action"]):
                for resource in _listed(statement["Resource"]):
                    condition = conditions(statement.get("Condition", {}))
                    yield Grant(arn, action, resource, condition)


def _check(arn: str, statement: Document, wanted: set[str]) -> None:
    if statement["Effect"] != "Allow" or set(statement) - {"Condition", "Effect"} != wanted:
        raise ValueError(f"{arn}: {statement} is not a plain permission")


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value
