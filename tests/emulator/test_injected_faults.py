"""What goes wrong between a job and its data: tried again with success, or told in words.

In each case nothing half-written is taken for whole: the files and objects that are left are
compared. `test_faulty_runs.py` has the faults that a whole run meets.
"""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import boto3
import pytest

from evenshard.simulator.cluster.assignment import parse_assignment
from evenshard.simulator.cluster.inputs import JobInput, lay, share_out
from evenshard.simulator.deployment.deployed import DeployedFunctions, DeployedRegistry
from evenshard.simulator.errors import ServiceError
from evenshard.simulator.storage.s3_objects import S3ObjectStore, open_s3
from tests.emulator.faulty_server import FOREVER, Change, Rule
from tests.emulator.server_process import SHARD, FaultyServer, preflight_event
from training.shards.preflight import handler
from training.shards.request import PreflightError

MIB = 1024**2
LayChannel = Callable[[], list[str]]


@pytest.fixture
def store(server: FaultyServer) -> S3ObjectStore:
    """Two attempts instead of five, so that the tests need not be patient."""
    del server  # open_s3 finds it by the environment, as users do
    return open_s3(attempts=2)


@pytest.fixture
def lay_channel(
    server: FaultyServer, store: S3ObjectStore, bucket: str, tmp_path: Path
) -> LayChannel:
    """Lists and lays three shards as a training job does; gives what is there in the end."""
    server.put_shards(bucket, "data/train")

    def lay_all() -> list[str]:
        job_input = JobInput(name="train", uri=f"s3://{bucket}/data/train/", sharded=True)
        share = share_out(job_input, ["algo-1"], store, parse_assignment("round-robin"))
        lay(share, "algo-1", tmp_path / "train", store)
        return files_below(tmp_path)

    return lay_all


def files_below(folder: Path) -> list[str]:
    return sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
    )


ALL = ["train/part-0.jsonl", "train/part-1.jsonl", "train/part-2.jsonl"]


def refusal(lay_channel: LayChannel) -> str:
    with pytest.raises(ServiceError) as error:
        lay_channel()
    return str(error.value)


@pytest.mark.parametrize(
    ("operation", "status", "code"),
    [
        ("ListObjectsV2", 500, "InternalError"),
        ("GetObject", 500, "InternalError"),
        ("GetObject", 503, "SlowDown"),
        ("ListObjectsV2", 400, "RequestLimitExceeded"),
    ],
)
def test_a_burst_is_waited_for(
    server: FaultyServer, lay_channel: LayChannel, operation: str, status: int, code: str
) -> None:
    server.rules(Rule(operation=operation, status=status, code=code))
    assert lay_channel() == ALL
    assert len(server.requests("ListObjectsV2")) == 1 + (operation == "ListObjectsV2")
    assert len(server.requests("GetObject")) == 3 + (operation == "GetObject")


def test_requests_to_slow_down_that_do_not_end_are_told(
    server: FaultyServer, lay_channel: LayChannel, bucket: str, tmp_path: Path
) -> None:
    message = "Please reduce your request rate."
    server.rules(
        Rule(operation="GetObject", times=FOREVER, status=503, code="SlowDown", message=message)
    )
    assert refusal(lay_channel) == (
        f"Cannot download s3://{bucket}/data/train/part-0.jsonl: SlowDown: Please reduce your "
        "request rate (2 attempts). Too many requests at once. Start again later, or allow more "
        "attempts with AWS_MAX_ATTEMPTS."
    )
    assert files_below(tmp_path) == []


def test_a_throttled_api_is_waited_for_and_then_told(
    server: FaultyServer, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "2")
    for split in ("train", "validation", "test"):
        server.put_shards(bucket, f"data/{split}")
    throttled = Rule(operation="ListObjectsV2", status=400, code="ThrottlingException")
    server.rules(throttled)
    assert handler(preflight_event(bucket), None)["object_count"] == 3
    assert len(server.requests("ListObjectsV2")) == 4
    server.rules(
        Rule(operation="ListObjectsV2", times=FOREVER, status=400, code="ThrottlingException")
    )
    with pytest.raises(PreflightError) as error:
        handler(preflight_event(bucket), None)
    assert str(error.value) == (
        f"Cannot list s3://{bucket}/data/train/: ThrottlingException. That is no fault of the "
        "data: start the execution again."
    )


@pytest.fixture
def group(server: FaultyServer) -> Iterator[str]:
    """An empty model package group."""
    name = f"group-{uuid.uuid4().hex}"
    server.sagemaker().create_model_package_group(ModelPackageGroupName=name)
    yield name
    server.rules()


def versions(server: FaultyServer, group: str) -> list[int]:
    listed = server.sagemaker().list_model_packages(ModelPackageGroupName=group)
    return [one["ModelPackageVersion"] for one in listed["ModelPackageSummaryList"]]


THROTTLED = Rule(
    operation="CreateModelPackage", status=400, code="ThrottlingException", message="Rate exceeded"
)


def test_a_throttled_registry_is_waited_for_and_counts_one_version(
    server: FaultyServer, group: str
) -> None:
    server.rules(THROTTLED)
    registered = DeployedRegistry(boto3.client("sagemaker")).register(group, {"request": {}})
    assert (registered.version, versions(server, group)) == (1, [1])
    assert len(server.requests("CreateModelPackage")) == 2


def test_a_registry_that_stays_throttled_is_told(
    server: FaultyServer, group: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "2")
    server.rules(replace(THROTTLED, times=FOREVER))
    with pytest.raises(ServiceError) as error:
        DeployedRegistry(boto3.client("sagemaker")).register(group, {"request": {}})
    assert str(error.value) == (
        f"Cannot register a version in {group}: ThrottlingException: Rate exceeded (2 attempts). "
        "Too many requests at once. Start again later, or allow more attempts with "
        "AWS_MAX_ATTEMPTS."
    )
    assert versions(server, group) == []


def test_a_function_that_is_not_deployed_is_told(server: FaultyServer, tmp_path: Path) -> None:
    arn = "arn:aws:lambda:us-east-1:123456789012:function:gone"
    functions = DeployedFunctions(boto3.client("lambda"), tmp_path, server.environment)
    told = rf"^Cannot get the function {arn}: ResourceNotFoundException: .* Deploy it to this"
    with pytest.raises(ServiceError, match=told):
        functions.function(arn, "Steps.Look.FunctionArn")


def test_a_denied_prefix_names_the_permission(
    server: FaultyServer, lay_channel: LayChannel, bucket: str, tmp_path: Path
) -> None:
    server.put_shards(bucket, "data/other")
    path = f"/{bucket}/data/train/"
    server.rules(
        Rule(operation="GetObject", path=path, times=FOREVER, status=403, code="AccessDenied")
    )
    assert refusal(lay_channel) == (
        f"Cannot download s3://{bucket}/data/train/part-0.jsonl: AccessDenied: injected. Whose "
        "credentials these are needs s3:GetObject there, and kms:Decrypt on the key that encrypts "
        "it."
    )
    assert files_below(tmp_path) == []
    assert open_s3().read(f"s3://{bucket}/data/other/part-0.jsonl") == SHARD


@pytest.mark.parametrize("size_bytes", [100, 6 * MIB])
def test_a_missing_kms_key_is_told_and_leaves_no_object(
    server: FaultyServer, bucket: str, tmp_path: Path, size_bytes: int
) -> None:
    store = open_s3(attempts=2, part_bytes=5 * MIB)
    (tmp_path / "model").write_bytes(bytes(size_bytes))
    server.rules(
        *(
            Rule(
                operation=operation,
                times=FOREVER,
                status=400,
                code="KMS.NotFoundException",
                message="Key 'key/gone' does not exist",
            )
            for operation in ("PutObject", "CreateMultipartUpload")
        )
    )
    with pytest.raises(ServiceError) as error:
        store.upload(tmp_path / "model", f"s3://{bucket}/model", "key/gone")
    assert str(error.value) == (
        f"Cannot upload s3://{bucket}/model: KMS.NotFoundException: Key 'key/gone' does not exist. "
        "Its KMS key is gone or of another region: name one that exists, as the bucket's default "
        "encryption or as the KmsKeyId of the job's outputs."
    )
    assert server.keys(bucket) == []


def test_an_expired_token_is_told_at_once(
    server: FaultyServer, lay_channel: LayChannel, bucket: str, tmp_path: Path
) -> None:
    message = "The provided token has expired."
    expired = Rule(
        operation="GetObject",
        first=2,
        times=FOREVER,
        status=400,
        code="ExpiredToken",
        message=message,
    )
    server.rules(expired)
    assert refusal(lay_channel) == (
        f"Cannot download s3://{bucket}/data/train/part-1.jsonl: ExpiredToken: The provided token "
        "has expired. The credentials have expired. Log in (aws sso login) or export "
        "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and choose the account with AWS_PROFILE."
    )
    assert len(server.requests("GetObject")) == 2
    assert files_below(tmp_path) == ["train/part-0.jsonl"]


def test_an_object_deleted_after_the_listing_is_noticed(
    server: FaultyServer, lay_channel: LayChannel, bucket: str, tmp_path: Path
) -> None:
    change = Change(method="DELETE", path=f"/{bucket}/data/train/part-1.jsonl")
    server.rules(Rule(operation="ListObjectsV2", change=change))
    assert refusal(lay_channel) == (
        f"Cannot download s3://{bucket}/data/train/part-1.jsonl: NoSuchKey: The specified key does "
        "not exist. It was deleted after it had been listed: start again when nobody writes there."
    )
    assert files_below(tmp_path) == ["train/part-0.jsonl"]


def test_an_object_that_shrinks_after_the_listing_is_noticed_without_etags(
    store: S3ObjectStore, lay_channel: LayChannel, bucket: str, tmp_path: Path
) -> None:
    # Services that merely look like S3 may ignore If-Match.
    lay_channel()
    [listed] = store.list(f"s3://{bucket}/data/train/part-1.jsonl")
    shorter = type(listed)(listed.key, listed.size_bytes + 1)
    with pytest.raises(ServiceError, match=r"100,000 bytes came, and it has 100,001\. Something"):
        store.download(f"s3://{bucket}/data/train/part-1.jsonl", tmp_path / "copy", shorter)
    assert not (tmp_path / "copy").exists()


def test_a_transfer_that_breaks_off_is_begun_again(
    server: FaultyServer, lay_channel: LayChannel, tmp_path: Path
) -> None:
    server.rules(Rule(operation="GetObject", first=2, keep_bytes=70_000))
    assert lay_channel() == ALL
    assert len(server.requests("GetObject")) == 4
    assert {(tmp_path / name).read_bytes() for name in ALL} == {SHARD}


def test_a_transfer_that_always_breaks_off_leaves_no_file(
    server: FaultyServer, lay_channel: LayChannel, bucket: str, tmp_path: Path
) -> None:
    server.rules(Rule(operation="GetObject", first=2, times=FOREVER, keep_bytes=70_000))
    told = refusal(lay_channel)
    assert told.startswith(f"Cannot download s3://{bucket}/data/train/part-1.jsonl: ")
    assert "The transfer broke off, or its bytes were wrong, every time. Check the network" in told
    assert files_below(tmp_path) == ["train/part-0.jsonl"]


def test_an_upload_in_parts_that_fails_leaves_neither_object_nor_parts(
    server: FaultyServer, bucket: str, tmp_path: Path
) -> None:
    (tmp_path / "model").write_bytes(bytes(11 * MIB))
    server.rules(
        Rule(operation="UploadPart", first=2, times=FOREVER, status=500, code="InternalError")
    )
    with pytest.raises(ServiceError) as error:
        open_s3(attempts=2, part_bytes=5 * MIB).upload(tmp_path / "model", f"s3://{bucket}/model")
    assert str(error.value) == (
        f"Cannot upload s3://{bucket}/model: InternalError: injected (2 attempts). The service "
        "itself failed. Start again later, or allow more attempts with AWS_MAX_ATTEMPTS."
    )
    assert server.keys(bucket) == []
    assert server.client().list_multipart_uploads(Bucket=bucket).get("Uploads", []) == []
