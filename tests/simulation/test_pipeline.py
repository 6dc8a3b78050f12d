"""The whole pipeline, from the synthesized definition to the registered model."""

import gzip
import json
import re
import tarfile
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from evenshard.simulator.events import ConditionEvaluated, MetricsSeen, Noted
from tests.simulation.pipeline_runs import Run, RunPipeline, run_pipeline
from tests.simulation.small_mail import TRAIN_SHARDS, write_splits

pytestmark = pytest.mark.timeout(240)

METRICS = ["train:loss", "train:records_per_second", "validation:accuracy", "validation:loss"]


@pytest.fixture(scope="module")
def success(assembly: Path, mail: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Two hosts with two devices each, two epochs."""
    return run_pipeline(
        {
            "assembly": assembly,
            "data": mail,
            "state_folder": tmp_path_factory.mktemp("state"),
            "hosts": 2,
            "devices_per_host": 2,
            "parameters": {"Epochs": "2"},
        }
    )


def test_every_step_succeeds_in_order(success: Run) -> None:
    document = success.document
    assert document["status"] == "Succeeded", document["failure_reason"]
    assert document["failure_reason"] is None
    assert [(step["name"], step["type"], step["status"]) for step in document["steps"]] == [
        ("Preflight", "Lambda", "Succeeded"),
        ("Train", "Training", "Succeeded"),
        ("Evaluate", "Processing", "Succeeded"),
        ("QualityGate", "Condition", "Succeeded"),
        ("Register", "RegisterModel", "Succeeded"),
    ]


def test_result_json_has_the_public_schema(success: Run) -> None:
    document = success.document
    assert set(document) == {
        "execution_id",
        "pipeline",
        "status",
        "failure_reason",
        "faults",
        "resumed_from",
        "parameters",
        "steps",
        "model_package",
    }
    assert re.fullmatch(r"[0-9a-z]{12}", document["execution_id"])
    assert document["pipeline"].endswith("-pytorch")
    assert document["parameters"]["InstanceCount"] == 2
    assert document["parameters"]["Epochs"] == 2
    for step in document["steps"]:
        assert set(step) == {
            "name",
            "type",
            "status",
            "seconds",
            "failure_reason",
            "hosts",
            "metrics",
            "attempts",
            "interruptions",
        }
        assert (step["attempts"], step["interruptions"]) == (1, 0)
        assert isinstance(step["seconds"], float)
        assert step["failure_reason"] is None
        for host in step["hosts"]:
            assert set(host) == {"name", "objects", "bytes", "records"}


def test_every_host_reads_only_its_shards(success: Run, mail: Path) -> None:
    shards = sorted((mail / "train").iterdir())
    sizes = [file.stat().st_size for file in shards]
    assert success.step("Train")["hosts"] == [
        {
            "name": f"algo-{host + 1}",
            "objects": len(shards[host::2]),
            "bytes": sum(sizes[host::2]),
            "records": sum(TRAIN_SHARDS[host::2]),
        }
        for host in range(2)
    ]
    hosts = success.result.folder / "steps" / "Train" / "hosts"
    for number in range(2):
        laid = sorted((hosts / f"algo-{number + 1}" / "input/data/train").iterdir())
        assert [file.name for file in laid] == [file.name for file in shards[number::2]]


def test_metrics_have_one_value_per_epoch(success: Run) -> None:
    metrics = success.step("Train")["metrics"]
    assert sorted(metrics) == METRICS
    assert {len(values) for values in metrics.values()} == {2}
    assert metrics["train:loss"][1] < metrics["train:loss"][0]
    lines = [event.line for event in success.events if isinstance(event, MetricsSeen)]
    assert [line.partition(";")[0] for line in lines] == ["epoch=1", "epoch=2"]


def test_the_gate_compares_the_accuracy_on_the_test_set(success: Run) -> None:
    (gate,) = [event for event in success.events if isinstance(event, ConditionEvaluated)]
    assert gate.comparison == (
        "binary_classification_metrics.accuracy.value 1.0 >= QualityThreshold 0.95"
    )
    (host,) = success.step("Evaluate")["hosts"]
    assert (host["name"], host["objects"]) == ("algo-1", 2)


def test_the_model_is_registered_with_its_metrics(success: Run) -> None:
    package = success.document["model_package"]
    assert set(package) == {"group", "version", "approval_status", "model_data", "metrics"}
    assert package["version"] == 1
    assert package["approval_status"] == "PendingManualApproval"
    metrics = package["metrics"]["binary_classification_metrics"]
    assert next(name for name in metrics if "accuracy" in name) == "accuracy"
    assert metrics["accuracy"]["value"] == 1.0
    registry = success.result.folder.parents[1] / "registry"
    stored = json.loads((registry / package["group"] / "1.json").read_text())
    assert stored["model_data"] == package["model_data"]
    digest = stored["request"]["CustomerMetadataProperties"]["data_digest"]
    assert re.fullmatch(r"[0-9a-f]{64}", digest)


def test_the_model_lies_where_its_uri_says(success: Run) -> None:
    package = success.document["model_package"]
    file = success.result.model_file
    assert file is not None
    bucket_and_key = package["model_data"].removeprefix("s3://")
    assert file == success.result.folder / "objects" / bucket_and_key
    with tarfile.open(file) as archive:
        assert archive.getnames() == ["config.json", "model.safetensors"]
        config = archive.extractfile("config.json")
        assert config is not None
        assert json.load(config)["complete"] is True


def test_a_model_below_the_threshold_is_rejected_with_the_numbers(run: RunPipeline) -> None:
    # It learns next to nothing.
    given = {"LearningRate": "1e-9", "QualityThreshold": "1"}
    outcome = run(hosts=1, parameters=given)
    assert outcome.document["status"] == "Failed"
    assert outcome.step_names[-2:] == ["QualityGate", "Reject"]
    reason = outcome.step("Reject")["failure_reason"]
    assert "below QualityThreshold 1" in reason
    found = re.search(r"accuracy (0\.\d+)", reason)
    assert found is not None
    assert 0 < float(found[1]) < 1
    assert reason in outcome.document["failure_reason"]
    assert outcome.document["model_package"] is None
    assert outcome.step("QualityGate")["status"] == "Succeeded"


def test_numbers_that_the_trainer_refuses_start_no_host(run: RunPipeline) -> None:
    outcome = run(hosts=2, parameters={"Epochs": "0", "QualityThreshold": "95"})
    assert outcome.document["status"] == "Failed"
    assert outcome.step_names == ["Preflight"]
    reason = outcome.step("Preflight")["failure_reason"]
    assert "Epochs: Hyperparameter epochs is '0'. Allowed: an integer >= 1" in reason
    assert "QualityThreshold is 95" in reason


def test_files_that_the_trainer_refuses_start_no_host(run: RunPipeline, tmp_path: Path) -> None:
    data = write_splits(tmp_path / "mail", train=(8, 8))
    (data / "test" / "_metadata").write_text("{}")
    outcome = run(data=data, hosts=2)
    assert outcome.document["status"] == "Failed"
    assert outcome.step_names == ["Preflight"]
    assert "_metadata below s3://" in outcome.step("Preflight")["failure_reason"]


def test_hosts_without_a_shard_are_allowed_on_request(run: RunPipeline, tmp_path: Path) -> None:
    data = write_splits(tmp_path / "mail", train=(30,))
    # 4 steps teach the model little, which is not what this is about.
    given = {"AllowEmptyHosts": "true", "QualityThreshold": "0"}
    outcome = run(data=data, hosts=2, parameters=given)
    assert outcome.document["status"] == "Succeeded", outcome.document["failure_reason"]
    hosts = outcome.step("Train")["hosts"]
    assert [host["records"] for host in hosts] == [30, 0]
    assert [host["objects"] for host in hosts] == [1, 0]
    reports = [
        json.loads(file.read_text())
        for file in outcome.result.folder.glob("steps/Train/hosts/*/output/data/*/data.json")
    ]
    assert {report["steps"] for report in reports} == {4}  # 30 records in batches of 8
    notes = [event.text for event in outcome.events if isinstance(event, Noted)]
    assert any("algo-2 would get no data" in note for note in notes)


def test_other_formats_train_and_are_judged_alike(
    run: RunPipeline, mail: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    for split in ("train", "validation", "test"):
        (folder / split).mkdir(parents=True)
        for shard in sorted((mail / split).iterdir()):
            records = [json.loads(line) for line in shard.read_text("utf-8").splitlines()]
            if split == "validation":
                target = folder / split / f"{shard.name}.gz"
                target.write_bytes(gzip.compress(shard.read_bytes()))
            else:
                target = folder / split / f"{shard.stem}.parquet"
                parquet.write_table(pa.Table.from_pylist(records), target, row_group_size=7)
    converted, original = run(hosts=2, data=folder), run(hosts=2)
    assert converted.document["status"] == "Succeeded", converted.document["failure_reason"]
    hosts = [one.step("Train")["hosts"] for one in (converted, original)]
    assert [host["records"] for host in hosts[0]] == [host["records"] for host in hosts[1]]
    packages = [one.document["model_package"]["metrics"] for one in (converted, original)]
    assert packages[0]["records"] == packages[1]["records"] == 60
    for one in (converted, original):
        assert one.step("Train")["metrics"]["validation:accuracy"][-1] > 0.9
