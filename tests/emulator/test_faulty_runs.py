"""Faults that whole commands meet, run as users run them, against data in S3."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.emulator.faulty_server import FOREVER, Change, Rule
from tests.emulator.server_process import FaultyServer
from tests.unit.simulator.assemblies import (
    Json,
    channel,
    definition_of,
    training_step,
    write_assembly,
)

COMMAND = str(Path(sys.executable).parent / "evenshard")
SPLITS = {"TrainDataUri": "train", "ValidationDataUri": "validation", "TestDataUri": "test"}


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A run of `evenshard simulate` and what it left."""

    code: int
    document: Json
    folder: Path

    @property
    def reason(self) -> str:
        reason: str = self.document["failure_reason"]
        return reason

    @property
    def laid(self) -> list[str]:
        """The inputs that the hosts have, and anything that was to become one."""
        inputs = self.folder.glob("steps/Train/hosts/*/input/data/train/*")
        return sorted(f"{path.parents[3].name}/{path.name}" for path in inputs)


def definition() -> Json:
    """One job of two hosts. No test here gets as far as to run its command."""
    uri = {"Get": "Parameters.TrainDataUri"}
    step = training_step(InputDataConfig=[channel("train", uri, "ShardedByS3Key")])
    parameters: list[Json] = [
        {"Name": name, "Type": "String", "DefaultValue": "s3://b/"} for name in SPLITS
    ]
    return definition_of(step, parameters=parameters)


def simulate(data: str, folder: Path, wrapper: Sequence[str] = ()) -> Ended:
    assembly = write_assembly(folder / "assembly", definition())
    done = subprocess.run(
        [
            *wrapper,
            *(COMMAND, "simulate", "--json", "--data", data, "--assembly", str(assembly)),
        ],
        cwd=folder,
        env={**os.environ, "AWS_MAX_ATTEMPTS": "2"},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.stderr == ""
    document = json.loads(done.stdout)
    run = folder / ".evenshard" / "runs" / document["execution_id"]
    assert json.loads((run / "result.json").read_text()) == document
    return Ended(code=done.returncode, document=document, folder=run)


@pytest.fixture
def data(server: FaultyServer, bucket: str) -> str:
    server.put_shards(bucket, "data/train")
    return f"s3://{bucket}/data"


def test_an_object_replaced_after_the_listing_fails_the_job(
    server: FaultyServer, data: str, tmp_path: Path
) -> None:
    bucket = data.split("/")[2]
    other = '{"text": "b", "label": 0}' * 4_000  # as long, so that the size tells nothing
    change = Change(method="PUT", path=f"/{bucket}/data/train/part-1.jsonl", body=other)
    server.rules(Rule(operation="ListObjectsV2", path="prefix=data%2Ftrain%2F", change=change))
    ended = simulate(data, tmp_path)
    assert (ended.code, ended.document["status"]) == (1, "Failed")
    assert ended.reason == (
        f"Step Train failed. ClientError: Cannot download {data}/train/part-1.jsonl: "
        "PreconditionFailed: At least one of the pre-conditions you specified did not hold. It was "
        "replaced after it had been listed: start again when nobody writes there."
    )
    # algo-2 comes after algo-1, and got nothing of the shard that would have been its own.
    assert ended.laid == ["algo-1/part-0.jsonl", "algo-1/part-2.jsonl"]


def test_an_emulator_killed_while_it_answers_fails_the_job(
    mortal_server: FaultyServer, tmp_path: Path
) -> None:
    mortal_server.client().create_bucket(Bucket="bucket")
    mortal_server.put_shards("bucket", "data/train")
    mortal_server.rules(Rule(operation="GetObject", first=2, keep_bytes=70_000, dies=True))
    ended = simulate("s3://bucket/data/", tmp_path)
    assert mortal_server.process.wait(timeout=60) == 9
    assert (ended.code, ended.document["status"]) == (1, "Failed")
    url = f"{mortal_server.url}/bucket/data/train/part-2.jsonl"
    assert ended.reason == (
        "Step Train failed. ClientError: Cannot download s3://bucket/data/train/part-2.jsonl: "
        f'Could not connect to the endpoint URL: "{url}". Check the network, and AWS_ENDPOINT_URL '
        "where it is set: does anything listen there?"
    )
    assert ended.laid == ["algo-1/part-0.jsonl"]


def test_a_full_disk_fails_the_job(server: FaultyServer, data: str, tmp_path: Path) -> None:
    bucket = data.split("/")[2]
    server.client().put_object(Bucket=bucket, Key="data/train/part-2.jsonl", Body=bytes(1_000_000))
    # No file beyond 400 or 800 blocks of 512 bytes, as shells differ; see --fault disk-full.
    limited = ["sh", "-c", 'ulimit -f 800 && exec "$@"', "sh"]
    ended = simulate(data, tmp_path, limited)
    assert (ended.code, ended.document["status"]) == (1, "Failed")
    file = ended.folder.resolve() / "steps/Train/hosts/algo-1/input/data/train/part-2.jsonl"
    assert ended.reason == (
        f"Step Train failed. ClientError: Cannot write {data}/train/part-2.jsonl to {file}: File "
        "too large. Free disk space there: every host has its own copy of what it reads."
    )
    assert ended.laid == ["algo-1/part-0.jsonl"]


def test_credentials_that_have_expired_start_no_run(
    server: FaultyServer, data: str, tmp_path: Path
) -> None:
    server.rules(Rule(operation="ListObjectsV2", times=FOREVER, status=400, code="ExpiredToken"))
    done = subprocess.run(
        [COMMAND, "simulate", "--data", data],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"Error: Cannot list {data}/: ExpiredToken: injected. The credentials have expired. Log in "
        "(aws sso login) or export AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and choose the "
        "account with AWS_PROFILE.\n"
    )
    assert list(tmp_path.iterdir()) == []
