"""Policies and trust, in the form that every role here has."""

from collections.abc import Mapping, Sequence

from aws_cdk import ArnFormat, Aws, Stack, Token
from aws_cdk import aws_iam as iam

SAGEMAKER = "sagemaker.amazonaws.com"

PULL_ACTIONS = (
    "ecr:BatchCheckLayerAvailability",
    "ecr:BatchGetImage",
    "ecr:GetDownloadUrlForLayer",
)


def policy(actions_by_resource: Mapping[str, Sequence[str]]) -> iam.PolicyDocument:
    """Allow actions, resource by resource."""
    return iam.PolicyDocument(
        statements=[
            iam.PolicyStatement(actions=list(actions), resources=[resource])
            for resource, actions in actions_by_resource.items()
        ]
    )


def sagemaker_arn(stack: Stack, resource: str) -> str:
    """The ARN of `training-job/NAME`, say, in the stack's account and region."""
    return stack.format_arn(
        service="sagemaker", resource=resource, arn_format=ArnFormat.NO_RESOURCE_NAME
    )


def acting_for(service: str, *source_arns: str) -> iam.IPrincipal:
    """A service, but only on behalf of this account and, if named, these resources of it.

    Without the condition another account could have the service use the role: a confused deputy.
    """
    conditions: dict[str, object] = {"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}}
    if source_arns:
        conditions["ArnLike"] = {"aws:SourceArn": list(source_arns)}
    return iam.ServicePrincipal(service, conditions=conditions)


def finding(stack: Stack, service: str, resource: str) -> str:
    """cdk-nag's name for access to `resource`, which has a wildcard, of the stack's account."""
    region = "<AWS::Region>" if Token.is_unresolved(stack.region) else stack.region
    account = "<AWS::AccountId>" if Token.is_unresolved(stack.account) else stack.account
    return f"IAM5[Resource::arn:<AWS::Partition>:{service}:{region}:{account}:{resource}]"
