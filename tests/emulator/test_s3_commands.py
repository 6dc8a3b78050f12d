"""`evenshard data s3://...` and `evenshard simulate --data s3://...`."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from evenshard import cli
from evenshard.commands import data as data_command
from evenshard.dataset import Mail
from evenshard.simulator import Event, SimulationRequest, Status, simulate
from tests.emulator.faulty_server import FOREVER, Rule
from tests.emulator.server_process import FaultyServer
from tests.unit.simulator.assemblies import (
    Json,
    channel,
    definition_of,
    function_step,
    processing_step,
    training_step,
    write_assembly,
)
from tests.unit.simulator.scripts import LISTER, WORK
from tests.unit.simulator.stage import play
from training.shards.location import Location


@pytest.fixture(autouse=True)
def small_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """200 mails: reading the real ones takes 11 seconds."""
    mails = [Mail(text=f"mail number {number}", label=number % 2) for number in range(200)]
    monkeypatch.setattr(data_command, "read_corpus", lambda: mails)


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["evenshard", *arguments])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert isinstance(stop.value.code, int)
    return stop.value.code


def test_a_dataset_goes_to_an_empty_prefix_and_nowhere_else(
    server: FaultyServer,
    bucket: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ("data", f"s3://{bucket}/data", "--shards", "3", "--json")
    assert run(monkeypatch, *arguments) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["destination"] == f"s3://{bucket}/data/"
    # Preflight refuses a dataset without its test set: that one comes last.
    assert [path.partition("?")[0] for path in server.requests("PutObject")] == [
        f"/{bucket}/data/train/part-00000.jsonl",
        f"/{bucket}/data/train/part-00001.jsonl",
        f"/{bucket}/data/train/part-00002.jsonl",
        f"/{bucket}/data/validation/part-00000.jsonl",
        f"/{bucket}/data/test/part-00000.jsonl",
    ]
    sizes = {split: counts["bytes"] for split, counts in document["splits"].items()}
    listed = server.client().list_objects_v2(Bucket=bucket)["Contents"]
    found = {
        split: sum(entry["Size"] for entry in listed if entry["Key"].startswith(f"data/{split}/"))
        for split in sizes
    }
    assert found == sizes
    assert run(monkeypatch, *arguments) == 2
    assert json.loads(capsys.readouterr().out)["error"] == (
        f"DEST s3://{bucket}/data/ holds objects: nothing is overwritten. Name an S3 folder that "
        f"is new or empty, or empty it: aws s3 rm --recursive s3://{bucket}/data/"
    )


def test_a_dataset_that_cannot_be_finished_is_taken_back(
    server: FaultyServer,
    bucket: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    server.rules(
        Rule(
            operation="PutObject",
            path="/data/test/",
            times=FOREVER,
            status=403,
            code="AccessDenied",
            message="Access Denied",
        )
    )
    assert run(monkeypatch, "data", f"s3://{bucket}/data/") == 1
    assert capsys.readouterr().err == (
        f"Error: Cannot upload s3://{bucket}/data/test/part-00000.jsonl: AccessDenied: Access "
        "Denied. Whose credentials these are needs s3:PutObject there, and kms:GenerateDataKey on "
        "the key that encrypts it.\n"
    )
    assert len(server.requests("PutObject")) == 10
    assert server.keys(bucket) == []


def test_a_folder_that_is_not_there_is_wrong_usage(
    bucket: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, "simulate", "--data", f"s3://{bucket}/none") == 2
    assert f"--data s3://{bucket}/none/: there are no objects below it" in capsys.readouterr().err
    assert run(monkeypatch, "simulate", "--data", f"s3://{bucket}") == 2
    assert "a whole bucket: it must name a folder in it" in capsys.readouterr().err


def definition() -> Json:
    """A function that lists, a job of two hosts and one of one, all on the data's parameters."""

    def uri(name: str) -> Json:
        return {"Get": f"Parameters.{name}DataUri"}

    work = processing_step()
    work["Arguments"]["ProcessingInputs"][0]["S3Input"]["S3Uri"] = uri("Test")
    inputs = [channel("train", uri("Train"), "ShardedByS3Key")]
    parameters: list[Json] = [
        {"Name": f"{name}DataUri", "Type": "String", "DefaultValue": "s3://b/"}
        for name in ("Train", "Validation", "Test")
    ]
    return definition_of(
        function_step("Look", {}, {"found": "String"}),
        training_step(InputDataConfig=inputs),
        work,
        parameters=parameters,
    )


@pytest.mark.parametrize("faults", [[], ["corrupt:train/part-1.jsonl"]])
def test_a_run_reads_its_data_in_s3_and_writes_on_this_machine(
    server: FaultyServer,
    bucket: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    faults: list[str],
) -> None:
    play(monkeypatch, tmp_path)(WORK)
    for split in ("train", "test"):
        server.put_shards(bucket, f"data/{split}")
    assembly = write_assembly(tmp_path / "assembly", definition())
    lister = LISTER.replace('"data", "train/part-0"', f'"{bucket}", "data/train/part-0"')
    (assembly / "asset.abc" / "handler.py").write_text(lister)
    events: list[Event] = []
    result = simulate(
        SimulationRequest(
            framework="pytorch",
            data=Location(bucket, "data/"),
            assembly=assembly,
            state_folder=tmp_path / "state",
            faults=faults,
        ),
        events.append,
    )
    assert result.status is Status.SUCCEEDED, result.failure_reason
    assert result.parameters["TrainDataUri"] == f"s3://{bucket}/data/train/"
    look = json.loads((result.folder / "steps/Look/output.json").read_text())
    assert look["found"].startswith("data/train/part-0.jsonl 100000 ")
    steps: dict[str, Any] = {step.name: step for step in result.steps}
    assert [host.bytes for host in steps["Train"].hosts] == [200_000, 100_000]
    # WORK reports how many bytes it read.
    [report] = (result.folder / "objects").glob("results/**/report.json")
    assert json.loads(report.read_text()) == {"size": 300_000}
    assert [model.name for model in (result.folder / "objects").glob("results/**/*.tar.gz")] == [
        "model.tar.gz"
    ]
    assert len(server.keys(bucket)) == 6
    [laid] = (result.folder / "steps/Train/hosts/algo-2/input/data/train").iterdir()
    whole = server.client().get_object(Bucket=bucket, Key="data/train/part-1.jsonl")["Body"].read()
    assert (laid.read_bytes() == whole) is not bool(faults)
