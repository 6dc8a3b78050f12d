"""Checkpoints that go to S3 and come back, and a spot job that goes on from them."""

from dataclasses import replace
from pathlib import Path

import pytest

from evenshard.simulator.cluster.faults import parse_fault
from evenshard.simulator.cluster.injection import FaultPlan
from evenshard.simulator.errors import ServiceError
from evenshard.simulator.steps.training import run_training
from evenshard.simulator.storage.s3_objects import S3ObjectStore, open_s3
from evenshard.simulator.storage.synced_folder import SyncedFolder
from tests.emulator.faulty_server import FOREVER, Rule
from tests.emulator.server_process import FaultyServer
from tests.unit.simulator.assemblies import channel, training_step
from tests.unit.simulator.scripts import trainer
from tests.unit.simulator.stage import make_stage, play


@pytest.fixture
def store(server: FaultyServer) -> S3ObjectStore:
    """On a server whose bucket `data` is empty."""
    server.client().create_bucket(Bucket="data")
    for key in server.keys("data"):
        server.client().delete_object(Bucket="data", Key=key)
    return open_s3(attempts=2)


def test_a_folder_is_kept_in_step_with_a_prefix(
    store: S3ObjectStore, server: FaultyServer, tmp_path: Path
) -> None:
    uri = "s3://data/checkpoints/abc/"
    folders = {host: tmp_path / host for host in ("algo-1", "algo-2")}
    synced = SyncedFolder(store, uri, folders, deletes=True)
    (folders["algo-1"] / "step-1").mkdir()
    (folders["algo-1"] / "step-1" / "rank-0").write_text("half")
    synced.sweep()
    (folders["algo-1"] / "step-1" / "rank-0").write_text("whole")
    (folders["algo-2"] / "index").write_text("{}")
    synced.sweep()
    assert server.keys("data") == ["checkpoints/abc/index", "checkpoints/abc/step-1/rank-0"]
    assert store.read(f"{uri}step-1/rank-0") == b"whole"
    (folders["algo-2"] / "index").unlink()
    synced.sweep()
    assert server.keys("data") == ["checkpoints/abc/step-1/rank-0"]
    others = {host: tmp_path / "new" / host for host in ("algo-1", "algo-2")}
    SyncedFolder(store, uri, others, deletes=True).restore()
    assert [(folder / "step-1" / "rank-0").read_text() for folder in others.values()] == [
        "whole",
        "whole",
    ]


def test_an_interrupted_spot_job_goes_on_from_what_is_in_s3(
    store: S3ObjectStore, server: FaultyServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    play(monkeypatch, tmp_path)(trainer())
    stage = make_stage(tmp_path, store)
    step = training_step(
        CheckpointConfig={"S3Uri": "s3://data/checkpoints/"},
        EnableManagedSpotTraining=True,
        OutputDataConfig={"S3OutputPath": "s3://data/models", "KmsKeyId": "alias/job"},
    )
    plan = FaultPlan.of([parse_fault("spot:algo-2@step=2"), parse_fault("stall:algo-1@step=3")])
    run = stage.run_of(step)
    run = replace(run, workspace=replace(stage.workspace, faults=plan, grace_s=4.0))
    server.rules(
        Rule(operation="PutObject", path="/checkpoints/", status=500, code="InternalError")
    )
    model = run_training(run).properties["ModelArtifacts"]["S3ModelArtifacts"]
    assert run.record.interruptions == 1
    # algo-1 did not listen, was killed and lost its steps; algo-2 had saved two.
    logs = {host: stage.base_dir(host) / "log.txt" for host in ("algo-1", "algo-2")}
    began = {host: log.read_text().splitlines()[0] for host, log in logs.items()}
    assert began == {"algo-1": "began=0", "algo-2": "began=2"}
    assert store.read("s3://data/checkpoints/algo-1") == b"6"
    assert store.read("s3://data/checkpoints/algo-2") == b"6"
    head = server.client().head_object(Bucket="data", Key=model.removeprefix("s3://data/"))
    assert (head["ServerSideEncryption"], head["SSEKMSKeyId"]) == ("aws:kms", "alias/job")


def test_checkpoints_that_cannot_be_kept_end_the_job_with_a_reason(
    store: S3ObjectStore, server: FaultyServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    play(monkeypatch, tmp_path)(trainer())
    stage = make_stage(tmp_path, store)
    step = training_step(
        CheckpointConfig={"S3Uri": "s3://data/checkpoints/"},
        InputDataConfig=[channel("train", "s3://data/train/", "ShardedByS3Key")],
    )
    run = stage.run_of(step)
    run = replace(run, workspace=replace(stage.workspace, grace_s=4.0))
    server.rules(
        Rule(
            operation="PutObject",
            path="/checkpoints/",
            times=FOREVER,
            status=403,
            code="AccessDenied",
        )
    )
    with pytest.raises(
        ServiceError, match=r"upload s3://data/checkpoints/algo-.*s3:PutObject there"
    ):
        run_training(run)
    assert not any(key.startswith("checkpoints/") for key in server.keys("data"))
