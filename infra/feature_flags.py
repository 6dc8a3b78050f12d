"""CDK feature flags that change what is deployed; set by app.py, so that the CLI adds nothing."""

FEATURE_FLAGS = {
    # Access logs are allowed by a bucket policy; new buckets have no access lists any more.
    "@aws-cdk/aws-s3:serverAccessLogsUseBucketPolicy": True,
    "@aws-cdk/aws-s3:createDefaultLoggingPolicy": True,
    # A public access block that sets one switch leaves the other three on.
    "@aws-cdk/aws-s3:publicAccessBlockedByDefault": True,
    # Statements with equal effect and resources are merged: shorter policies, no new rights.
    "@aws-cdk/aws-iam:minimizePolicies": True,
}
# Never @aws-cdk/core:enablePartitionLiterals: it writes literal `arn:aws:` into templates.
