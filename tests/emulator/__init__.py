"""Against a server: deployments by the CDK CLI, executions by boto3, S3 that fails."""
