"""Resource policies: of buckets, topics and queues."""

import json
from typing import ClassVar

from moto.core.common_models import CloudFormationModel
from moto.s3.models import S3Backend, s3_backends
from moto.sns.models import sns_backends
from moto.sqs.models import sqs_backends
from moto.utilities.utils import get_partition

from evenshard.emulator.cloudformation.resource import Deployed, Place


class BucketPolicyResource(Deployed, CloudFormationModel):
    """The policy of a bucket."""

    TYPE: ClassVar[str] = "AWS::S3::BucketPolicy"
    PROPERTIES: ClassVar[frozenset[str]] = frozenset({"Bucket", "PolicyDocument"})

    def create(self) -> None:
        """Put the policy."""
        bucket = self.properties["Bucket"]
        document = json.dumps(self.properties["PolicyDocument"]).encode()
        _s3(self.place).put_bucket_policy(bucket, document)
        self.physical_resource_id = bucket

    def remove(self) -> None:
        """Take the policy away, unless the bucket went first: moto deletes in any order."""
        if self.properties["Bucket"] in _s3(self.place).buckets:
            _s3(self.place).delete_bucket_policy(self.properties["Bucket"])


class TopicPolicyResource(Deployed, CloudFormationModel):
    """The policy of some topics."""

    TYPE: ClassVar[str] = "AWS::SNS::TopicPolicy"
    PROPERTIES: ClassVar[frozenset[str]] = frozenset({"PolicyDocument", "Topics"})

    def create(self) -> None:
        """Put the policy on every topic."""
        backend = sns_backends[self.place.account][self.place.region]
        document = json.dumps(self.properties["PolicyDocument"])
        for arn in self.properties["Topics"]:
            backend.set_topic_attribute(arn, "policy", document)

    def remove(self) -> None:
        """Do nothing: a topic always has a policy, and ours goes with it."""


class QueuePolicyResource(Deployed, CloudFormationModel):
    """The policy of some queues."""

    TYPE: ClassVar[str] = "AWS::SQS::QueuePolicy"
    PROPERTIES: ClassVar[frozenset[str]] = frozenset({"PolicyDocument", "Queues"})

    def create(self) -> None:
        """Put the policy on every queue."""
        self._put(json.dumps(self.properties["PolicyDocument"]))

    def remove(self) -> None:
        """Take the policy from the queues that are left."""
        self._put("")

    def _put(self, document: str) -> None:
        backend = sqs_backends[self.place.account][self.place.region]
        for url in self.properties["Queues"]:
            name = url.rpartition("/")[2]
            if name in backend.queues:
                backend.set_queue_attributes(name, {"Policy": document})


def _s3(place: Place) -> S3Backend:
    return s3_backends[place.account][get_partition(place.region)]
