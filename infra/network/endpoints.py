"""Ways from the VPC to the services that jobs need, each with a policy of its own."""

from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import ArnFormat, Aws, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.access.data import LEND_KEY, USE_KEY
from infra.access.jobs import LOG_ACTIONS
from infra.access.statements import PULL_ACTIONS
from infra.network.settings import InterfaceService

_BUCKET_ACTIONS = (
    "s3:AbortMultipartUpload",
    "s3:DeleteObject",
    "s3:GetObject",
    "s3:ListBucket",
    "s3:PutObject",
)
_ECR_ACTIONS = ("ecr:GetAuthorizationToken", *PULL_ACTIONS)

_SERVICES: dict[InterfaceService, ec2.InterfaceVpcEndpointAwsService] = {
    "ecr.api": ec2.InterfaceVpcEndpointAwsService.ECR,
    "ecr.dkr": ec2.InterfaceVpcEndpointAwsService.ECR_DOCKER,
    "kms": ec2.InterfaceVpcEndpointAwsService.KMS,
    "logs": ec2.InterfaceVpcEndpointAwsService.CLOUDWATCH_LOGS,
    "monitoring": ec2.InterfaceVpcEndpointAwsService.CLOUDWATCH_MONITORING,
}
"""CDK knows their names in each region: in China some start with `cn.`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where endpoints are put."""

    vpc_id: str
    subnet_ids: Sequence[str]
    route_table_id: str
    security_group_id: str


def add_s3_gateway(scope: Construct, place: Place, *, bucket_arn: str, with_layers: bool) -> None:
    """The way to the data bucket and, if wanted, to the layers of images; to no other bucket."""
    statements = [_allow(_BUCKET_ACTIONS, bucket_arn, f"{bucket_arn}/*")]
    if with_layers:
        # ECR keeps the layers of images in a bucket of its own account.
        layers = f"arn:{Aws.PARTITION}:s3:::prod-{Aws.REGION}-starport-layer-bucket/*"
        statements.append(
            iam.PolicyStatement(
                actions=["s3:GetObject"], resources=[layers], principals=[iam.AnyPrincipal()]
            )
        )
    ec2.CfnVPCEndpoint(
        scope,
        "S3",
        vpc_id=place.vpc_id,
        vpc_endpoint_type="Gateway",
        service_name=ec2.GatewayVpcEndpointAwsService.S3.name,
        route_table_ids=[place.route_table_id],
        policy_document=iam.PolicyDocument(statements=statements),
    )


def add_interface(
    scope: Construct, place: Place, service: InterfaceService, *, key_arn: str
) -> None:
    """The way to one service, for what jobs do there only."""
    ec2.CfnVPCEndpoint(
        scope,
        service.title().replace(".", ""),
        vpc_id=place.vpc_id,
        vpc_endpoint_type="Interface",
        service_name=_SERVICES[service].name,
        subnet_ids=list(place.subnet_ids),
        security_group_ids=[place.security_group_id],
        private_dns_enabled=True,
        policy_document=iam.PolicyDocument(
            statements=[_statement(Stack.of(scope), service, key_arn)]
        ),
    )


def _statement(stack: Stack, service: InterfaceService, key_arn: str) -> iam.PolicyStatement:
    match service:
        case "ecr.api" | "ecr.dkr":
            return _allow(_ECR_ACTIONS, "*")
        case "kms":
            return _allow((*USE_KEY, LEND_KEY), key_arn)
        case "logs":
            groups = stack.format_arn(
                service="logs",
                resource="log-group",
                resource_name="/aws/sagemaker/*",
                arn_format=ArnFormat.COLON_RESOURCE_NAME,
            )
            return _allow(LOG_ACTIONS, groups)
        case "monitoring":
            return _allow(["cloudwatch:PutMetricData"], "*")


def _allow(actions: Sequence[str], *resources: str) -> iam.PolicyStatement:
    """For roles of this account only: nobody's else credentials carry data out."""
    return iam.PolicyStatement(
        actions=list(actions),
        resources=list(resources),
        principals=[iam.AnyPrincipal()],
        conditions={"StringEquals": {"aws:PrincipalAccount": Aws.ACCOUNT_ID}},
    )
