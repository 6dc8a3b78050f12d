"""A faulty server as tests see it."""

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import boto3

from evenshard.repository import ROOT
from tests.emulator.faulty_server import Rule

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

SHARD = b'{"text": "a", "label": 1}' * 4_000
"""100 kB."""
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
    # What lies on the machine that runs the tests must not decide how they end.
    "AWS_CONFIG_FILE": "/dev/null",
    "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@dataclass(frozen=True, kw_only=True)
class FaultyServer:
    """A running one."""

    url: str
    process: subprocess.Popen[str]

    def rules(self, *rules: Rule) -> None:
        """Replace the rules; the requests so far are forgotten."""
        body = json.dumps([rule.document() for rule in rules]).encode()
        request = urllib.request.Request(f"{self.url}/-/rules", data=body, method="PUT")  # noqa: S310 - our own server
        urllib.request.urlopen(request, timeout=60).close()  # noqa: S310 - the same

    def requests(self, operation: str) -> list[str]:
        """The paths, with queries, of the requests of one kind since the rules were set."""
        with urllib.request.urlopen(f"{self.url}/-/requests", timeout=60) as answer:  # noqa: S310 - the same
            lines: list[str] = json.load(answer)
        return [line.partition(" ")[2] for line in lines if line.startswith(f"{operation} ")]

    @property
    def environment(self) -> dict[str, str]:
        """What leads AWS tools to it."""
        return {**CREDENTIALS, "AWS_ENDPOINT_URL": self.url}

    def client(self) -> "S3Client":
        """A client of S3, the test's own."""
        return self._session().client("s3", endpoint_url=self.url)

    def sagemaker(self) -> Any:  # noqa: ANN401 - its stubs are not worth a dependency
        """A client of SageMaker, the test's own."""
        return self._session().client("sagemaker", endpoint_url=self.url)

    def _session(self) -> boto3.Session:
        return boto3.Session(
            region_name=CREDENTIALS["AWS_REGION"],
            aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
        )

    def put_shards(self, bucket: str, prefix: str) -> None:
        """Write three shards."""
        for number in range(3):
            self.client().put_object(Bucket=bucket, Key=f"{prefix}/part-{number}.jsonl", Body=SHARD)

    def keys(self, bucket: str) -> list[str]:
        """All keys of a bucket; without rules from then on."""
        self.rules()
        pages = self.client().get_paginator("list_objects_v2").paginate(Bucket=bucket)
        return [entry["Key"] for page in pages for entry in page.get("Contents", ())]


def preflight_event(bucket: str) -> dict[str, object]:
    """What the Preflight step is called with, for data below data/."""
    return {
        "train_data_uri": f"s3://{bucket}/data/train/",
        "validation_data_uri": f"s3://{bucket}/data/validation/",
        "test_data_uri": f"s3://{bucket}/data/test/",
        "instance_count": 2,
        "allow_empty_hosts": "false",
        "epochs": 1,
        "batch_size": 8,
        "learning_rate": 0.1,
        "seed": 0,
        "quality_threshold": 0.5,
    }


@contextmanager
def running_server() -> Iterator[FaultyServer]:
    """Start one on a free port; end it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.emulator.faulty_server"],
        cwd=ROOT,
        env={**os.environ, **CREDENTIALS},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield FaultyServer(url=process.stdout.readline().strip(), process=process)
    finally:
        process.kill()
        process.communicate()
