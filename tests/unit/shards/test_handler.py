"""Preflight as Lambda calls it, with S3 at its edge."""

import logging
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from tests.unit.shards.data_sets import TEST, VALIDATION, event, lister
from training.shards import preflight as module
from training.shards.preflight import preflight
from training.shards.request import PreflightError


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stubber]:
    """What S3 answers to the handler, in order."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "stubbed")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "stubbed")
    client = boto3.client("s3", region_name="eu-west-1")
    monkeypatch.setattr(boto3, "client", lambda _service: client)
    with Stubber(client) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


def page(prefix: str, names: list[str], following: str = "") -> dict[str, Any]:
    contents = [{"Key": prefix + name, "Size": 5, "ETag": '"0f"'} for name in names]
    more = {"IsTruncated": True, "NextContinuationToken": following} if following else {}
    return {"Contents": contents, **more}


def test_handler_reads_every_page(s3: Stubber) -> None:
    request = {"Bucket": "b-1", "Prefix": "train/"}
    s3.add_response("list_objects_v2", page("train/", ["a.jsonl"], following="t"), request)
    s3.add_response(
        "list_objects_v2", page("train/", ["b.jsonl"]), {**request, "ContinuationToken": "t"}
    )
    for prefix in ("validation/", "test/"):
        s3.add_response(
            "list_objects_v2", page(prefix, ["a.jsonl"]), {"Bucket": "b-1", "Prefix": prefix}
        )
    outputs = module.handler(event(), None)
    assert (outputs["object_count"], outputs["total_bytes"]) == (2, 10)
    listed = lister({"train/a.jsonl": 5, "train/b.jsonl": 5}, VALIDATION, TEST, etag="0f")
    assert outputs["data_digest"] == preflight(event(), listed)["data_digest"]


def test_handler_logs_its_reason_in_one_line(s3: Stubber, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        s3.add_response("list_objects_v2", {})
    with pytest.raises(PreflightError, match="No shards under"):
        module.handler(event(), None)
    [record] = [found for found in caplog.records if found.levelno == logging.ERROR]
    assert record.getMessage().startswith(
        "Preflight refused the execution: No shards under s3://b-1/"
    )
    assert record.exc_info is None


@pytest.mark.parametrize("code", ["AccessDenied", "NoSuchBucket"])
def test_handler_explains_a_bucket_it_cannot_list(s3: Stubber, code: str) -> None:
    s3.add_client_error("list_objects_v2", service_error_code=code)
    with pytest.raises(PreflightError, match=f"Cannot list s3://b-1/train/: {code}") as refused:
        module.handler(event(), None)
    assert "this deployment's own bucket (output DataBucketName" in str(refused.value)
    assert "infra/access/" in str(refused.value)
