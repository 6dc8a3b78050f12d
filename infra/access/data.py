"""What lies where in the data bucket, as IAM sees it."""

from dataclasses import dataclass

from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3

from infra.pipeline.deployment import (
    CHECKPOINTS_FOLDER,
    DATA_FOLDER,
    EVALUATION_FOLDER,
    EXECUTIONS_FOLDER,
    TENSORBOARD_FOLDER,
    TRAINING_FOLDER,
)
from training.contract.layout import EVALUATION_FILE, MODEL_ARCHIVE

_BUCKET_ARN_EXPORT = "ExportsOutputFnGetAttData666C94C7Arn0D7E21B7"
"""CDK's name for the data bucket's ARN between the stacks; part of a finding's name below."""

DATASETS = f"{DATA_FOLDER}/*"
"""The data sets: read by jobs, listed by Preflight, written by whoever publishes data."""
# Execution ids are made at run time, hence the first star.
TRAINING_OUTPUTS = f"{EXECUTIONS_FOLDER}/*/{TRAINING_FOLDER}/*"
TENSORBOARD_OUTPUTS = f"{EXECUTIONS_FOLDER}/*/{TENSORBOARD_FOLDER}/*"
CHECKPOINTS = f"{CHECKPOINTS_FOLDER}/*/*"
MODELS = f"{EXECUTIONS_FOLDER}/*/{TRAINING_FOLDER}/*/output/{MODEL_ARCHIVE}"
"""One below each training job's name."""
EVALUATION_OUTPUTS = f"{EXECUTIONS_FOLDER}/*/{EVALUATION_FOLDER}/*"
EVALUATIONS = f"{EXECUTIONS_FOLDER}/*/{EVALUATION_FOLDER}/{EVALUATION_FILE}"

WRITE_OBJECTS = ("s3:AbortMultipartUpload", "s3:PutObject")
SYNC_OBJECTS = (*WRITE_OBJECTS, "s3:DeleteObject", "s3:GetObject")
"""Of checkpoints: restored at the start; a file deleted on a host is deleted here too."""
USE_KEY = ("kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey")
"""To read, and to write outputs: their KmsKeyId wants kms:Encrypt too, says the service model."""

LEND_KEY = "kms:CreateGrant"
"""To EC2, for as long as a volume is there. Source: docs/facts.md 8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataAccess:
    """What jobs and pipelines read and write."""

    storage_stack_name: str
    bucket: s3.IBucket
    key: kms.IKey
    image_repository_arn: str

    def finding(self, objects: str) -> str:
        """cdk-nag's name for access to objects of the data bucket, `data/*` say."""
        return f"IAM5[Resource::{self.storage_stack_name}:{_BUCKET_ARN_EXPORT}/{objects}]"
