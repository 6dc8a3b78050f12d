"""The storage stack: the data bucket, its key and its access logs."""

from aws_cdk import CfnOutput, Duration, RemovalPolicy
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra.pipeline.deployment import CHECKPOINTS_FOLDER
from infra.settings import Settings, StorageSettings
from infra.stack import EnvironmentStack


class StorageStack(EnvironmentStack):
    """Holds what outlives a training pipeline."""

    def __init__(self, scope: Construct, construct_id: str, *, settings: Settings) -> None:
        super().__init__(
            scope,
            construct_id,
            settings=settings,
            description="data bucket, encryption key, access logs",
        )
        removal = RemovalPolicy.RETAIN if settings.storage.retain_data else RemovalPolicy.DESTROY
        self.key = kms.Key(
            self,
            "DataKey",
            description=f"Data and models of {settings.prefix}",
            alias=f"alias/{settings.prefix}-data",
            enable_key_rotation=True,
            removal_policy=removal,
        )
        access_logs = self._access_logs_bucket(settings.storage)
        self.data_bucket = self._data_bucket(settings.storage, removal, access_logs)
        CfnOutput(
            self,
            "DataBucketName",
            value=self.data_bucket.bucket_name,
            description="Fill it with: aws s3 cp --recursive FOLDER s3://<this bucket>/data/",
        )

        CfnOutput(
            self,
            "AccessLogsBucketName",
            value=access_logs.bucket_name,
            description="Stays when the stack is deleted: logs arrive for hours",
        )

    def _access_logs_bucket(self, settings: StorageSettings) -> s3.Bucket:
        # Logs of the last requests arrive after it was emptied: deleting it would always fail.
        removal = RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE
        bucket = s3.Bucket(
            self,
            "AccessLogs",
            # S3 delivers access logs to buckets with its own keys only.
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            lifecycle_rules=[
                s3.LifecycleRule(id="expire", expiration=Duration.days(settings.access_logs_days))
            ],
            removal_policy=removal,
        )
        _keep_policy(bucket, removal)
        return bucket

    def _data_bucket(
        self, settings: StorageSettings, removal: RemovalPolicy, access_logs: s3.IBucket
    ) -> s3.Bucket:
        bucket = s3.Bucket(
            self,
            "Data",
            encryption=s3.BucketEncryption.KMS,
            encryption_key=self.key,
            bucket_key_enabled=True,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            versioned=True,
            server_access_logs_bucket=access_logs,
            server_access_logs_prefix="data-bucket/",
            lifecycle_rules=[
                s3.LifecycleRule(
                    id="old-versions",
                    noncurrent_version_expiration=Duration.days(settings.old_versions_days),
                    # What marks a deletion has no age, and slows down every listing.
                    expired_object_delete_marker=True,
                ),
                s3.LifecycleRule(
                    id="checkpoints",
                    prefix=f"{CHECKPOINTS_FOLDER}/",
                    expiration=Duration.days(settings.checkpoints_days),
                    # Trainers replace them all the time: replaced ones would be most of the bucket.
                    noncurrent_version_expiration=Duration.days(1),
                ),
                s3.LifecycleRule(
                    id="unfinished-uploads",
                    abort_incomplete_multipart_upload_after=Duration.days(7),
                ),
            ],
            removal_policy=removal,
        )
        _keep_policy(bucket, removal)
        return bucket


def _keep_policy(bucket: s3.Bucket, removal: RemovalPolicy) -> None:
    """Let a bucket that outlives the stack keep what its policy demands."""
    if bucket.policy is None:
        raise AssertionError("enforce_ssl makes a policy")
    bucket.policy.apply_removal_policy(removal)
