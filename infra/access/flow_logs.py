"""What writes the record of a VPC's connections."""

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.access.statements import acting_for, policy


class FlowLogRole(Construct):
    """Writes to one log group."""

    def __init__(self, scope: Construct, construct_id: str, *, log_group: logs.ILogGroup) -> None:
        super().__init__(scope, construct_id)
        self.role = iam.Role(
            self,
            "Role",
            description="Writes the record of the VPC's connections",
            assumed_by=acting_for(
                "vpc-flow-logs.amazonaws.com",
                Stack.of(self).format_arn(
                    service="ec2", resource="vpc-flow-log", resource_name="*"
                ),
            ),
            inline_policies={
                "logs": policy(
                    {
                        log_group.log_group_arn: [
                            "logs:CreateLogStream",
                            "logs:DescribeLogStreams",
                            "logs:PutLogEvents",
                        ]
                    }
                )
            },
        )
