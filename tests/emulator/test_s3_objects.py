"""The store over S3 keeps what `ObjectStore` promises, against a real server."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from evenshard.simulator.cluster.assignment import parse_assignment
from evenshard.simulator.cluster.inputs import JobInput, lay, share_out
from evenshard.simulator.errors import ServiceError
from evenshard.simulator.storage.s3_objects import S3ObjectStore, open_s3
from tests.emulator.faulty_server import Rule
from tests.emulator.server_process import FaultyServer, preflight_event
from training.shards.preflight import handler

MIB = 1024**2


@pytest.fixture
def store(server: FaultyServer) -> S3ObjectStore:
    del server  # open_s3 finds it by the environment, as users do
    return open_s3()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "file"
    file.write_bytes(b"content")
    return file


def test_written_objects_are_listed_and_read_back(
    store: S3ObjectStore, bucket: str, file: Path, tmp_path: Path
) -> None:
    for name in ("train/part-2", "train/part-10", "train/Ärger", "train-old/a b+c"):
        store.upload(file, f"s3://{bucket}/{name}")
    listed = store.list(f"s3://{bucket}/train/")
    assert [stored.key for stored in listed] == ["train/part-10", "train/part-2", "train/Ärger"]
    assert {(stored.size_bytes, stored.etag) for stored in listed} == {
        (7, "9a0364b9e99bb480dd25e1f0284c8555")
    }
    assert store.read(f"s3://{bucket}/train-old/a b+c") == b"content"
    store.download(f"s3://{bucket}/train/Ärger", tmp_path / "deep" / "copy", listed[2])
    assert (tmp_path / "deep" / "copy").read_bytes() == b"content"
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["copy"]
    assert store.local_file(f"s3://{bucket}/train/part-2") is None


def test_existence_is_of_the_very_key(store: S3ObjectStore, bucket: str, file: Path) -> None:
    store.upload(file, f"s3://{bucket}/a/part-10")
    assert store.exists(f"s3://{bucket}/a/part-10")
    assert not store.exists(f"s3://{bucket}/a/part-1")
    assert store.holds(f"s3://{bucket}/a/")
    assert not store.holds(f"s3://{bucket}/b/")
    store.delete(f"s3://{bucket}/a/part-10")
    store.delete(f"s3://{bucket}/a/part-10")
    assert not store.exists(f"s3://{bucket}/a/part-10")


def test_what_is_not_there_is_not_read(store: S3ObjectStore, bucket: str) -> None:
    with pytest.raises(FileNotFoundError, match=f"There is no object s3://{bucket}/none"):
        store.read(f"s3://{bucket}/none")
    with pytest.raises(
        ServiceError, match=r"Cannot list s3://no-such-bucket/x/: NoSuchBucket.* name"
    ):
        store.list("s3://no-such-bucket/x/")


def test_large_files_go_up_in_parts(
    server: FaultyServer, bucket: str, file: Path, tmp_path: Path
) -> None:
    store = open_s3(part_bytes=5 * MIB)
    content = bytes(range(256)) * (11 * MIB // 256)
    file.write_bytes(content)
    server.rules()
    store.upload(file, f"s3://{bucket}/large")
    assert len(server.requests("UploadPart")) == 3
    [listed] = store.list(f"s3://{bucket}/large")
    assert listed.etag.endswith("-3")
    store.download(f"s3://{bucket}/large", tmp_path / "copy", listed)
    assert (tmp_path / "copy").read_bytes() == content


def test_outputs_are_encrypted_with_the_key_of_the_job_or_the_buckets(
    server: FaultyServer, store: S3ObjectStore, bucket: str, file: Path
) -> None:
    client = server.client()
    client.put_bucket_encryption(
        Bucket=bucket,
        ServerSideEncryptionConfiguration={
            "Rules": [
                {
                    "ApplyServerSideEncryptionByDefault": {
                        "SSEAlgorithm": "aws:kms",
                        "KMSMasterKeyID": "arn:aws:kms:us-east-1:1:key/default",
                    }
                }
            ]
        },
    )
    store.upload(file, f"s3://{bucket}/default")
    store.upload(file, f"s3://{bucket}/own", "arn:aws:kms:us-east-1:1:key/own")
    small_parts = open_s3(part_bytes=5 * MIB)
    file.write_bytes(bytes(6 * MIB))
    small_parts.upload(file, f"s3://{bucket}/parts", "arn:aws:kms:us-east-1:1:key/own")
    keys = {
        name: client.head_object(Bucket=bucket, Key=name)["SSEKMSKeyId"].rpartition("/")[2]
        for name in ("default", "own", "parts")
    }
    assert keys == {"default": "default", "own": "own", "parts": "own"}


def test_channels_hold_what_a_folder_can_hold(
    server: FaultyServer, store: S3ObjectStore, bucket: str, tmp_path: Path
) -> None:
    client = server.client()
    for key in ("train/", "train/sub/", "train/sub/a", "train/b"):
        client.put_object(Bucket=bucket, Key=key, Body=b"x" if key[-1] != "/" else b"")
    job_input = JobInput(name="train", uri=f"s3://{bucket}/train/", sharded=False)

    def lay_all() -> None:
        share = share_out(job_input, ["algo-1"], store, parse_assignment("round-robin"))
        assert len(share.objects["algo-1"]) >= 4  # markers are objects like any other
        lay(share, "algo-1", tmp_path / "train", store)

    lay_all()
    laid = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*"))
    assert laid == ["train", "train/b", "train/sub", "train/sub/a"]
    for key, reason in (
        ("train/../../outside", "its key has an empty part or one of dots"),
        ("train//twice", "its key has an empty part or one of dots"),
        ("train/b/c", "One object has the name of the folder of another"),
    ):
        client.put_object(Bucket=bucket, Key=key, Body=b"x")
        with pytest.raises(ServiceError, match=reason):
            lay_all()
        client.delete_object(Bucket=bucket, Key=key)
    assert not (tmp_path.parent / "outside").exists()


def test_listings_and_the_real_preflight_have_no_end_at_a_thousand(
    server: FaultyServer, store: S3ObjectStore, bucket: str
) -> None:
    client = server.client()

    def put(key: str) -> None:
        client.put_object(Bucket=bucket, Key=key, Body=b'{"text": "a", "label": 1}\n')

    names = [f"data/train/part-{number:05}.jsonl" for number in range(1_030)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(put, [*names, "data/validation/a.jsonl", "data/test/a.jsonl"]))
    server.rules()
    assert [stored.key for stored in store.list(f"s3://{bucket}/data/train/")] == names
    assert len(server.requests("ListObjectsV2")) == 2
    outputs = handler(preflight_event(bucket), None)
    assert outputs["object_count"] == 1_030
    assert outputs["total_bytes"] == 1_030 * 26
    assert outputs["hosts_without_data"] == 0


def test_no_region_is_needed_and_credentials_are(
    server: FaultyServer, bucket: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_REGION")
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    open_s3().upload(file, f"s3://{bucket}/a")
    assert server.keys(bucket) == ["a"]
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(ServiceError) as error:
        open_s3().list(f"s3://{bucket}/")
    assert str(error.value) == (
        f"Cannot list s3://{bucket}/: Unable to locate credentials. Log in (aws sso login) or "
        "export AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and choose the account with "
        "AWS_PROFILE."
    )


def test_attempts_are_those_of_the_environment(
    server: FaultyServer, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    server.rules(Rule(operation="ListObjectsV2", status=500, code="InternalError"))
    with pytest.raises(ServiceError, match=r"InternalError: injected\. The service itself failed"):
        open_s3().list(f"s3://{bucket}/")
    assert open_s3().list(f"s3://{bucket}/") == []
