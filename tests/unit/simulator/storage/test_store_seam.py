"""Every step that touches data does so through `ObjectStore`: a store without files serves too."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from evenshard.simulator.steps.function import run_function
from evenshard.simulator.steps.processing import run_processing
from evenshard.simulator.steps.register import run_register
from evenshard.simulator.steps.training import run_training
from tests.unit.simulator.assemblies import function_step, processing_step, training_step
from tests.unit.simulator.memory_store import MemoryStore
from tests.unit.simulator.scripts import LISTER, WORK
from tests.unit.simulator.stage import Stage, make_stage


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def stage(tmp_path: Path, store: MemoryStore) -> Stage:
    return make_stage(tmp_path, store)


def test_a_function_lists_it(stage: Stage) -> None:
    asset = stage.assembly.folder / "asset.abc"
    (asset / "handler.py").write_text(LISTER, encoding="utf-8")
    outcome = run_function(stage.run_of(function_step("Look", {}, {"found": "String"})))
    found = "train/part-0 1 9dd4e461268c8034f5c8564e155c67a6"
    assert outcome.properties == {"OutputParameters": {"found": found}}


def test_jobs_read_and_write_it_and_a_model_in_it_is_registered(
    stage: Stage, store: MemoryStore, cast: Callable[[str], None]
) -> None:
    cast(WORK)
    training = stage.run_of(training_step())
    model = run_training(training).properties["ModelArtifacts"]["S3ModelArtifacts"]
    assert [host.bytes for host in training.record.hosts] == [4, 2]
    assert store.exists(model)
    run_processing(stage.run_of(processing_step()))
    report = "s3://results/evaluation/report.json"
    assert json.loads(store.read(report)) == {"size": 5}
    arguments = {
        "ModelPackageGroupName": "spam",
        "InferenceSpecification": {"Containers": [{"Image": "i", "ModelDataUrl": model}]},
        "ModelMetrics": {"ModelQuality": {"Statistics": {"S3Uri": report}}},
    }
    step = {"Name": "Register", "Type": "RegisterModel", "Arguments": arguments}
    package = run_register(stage.run_of(step)).package
    assert package is not None
    assert package.metrics == {"size": 5}
    stored = json.loads((stage.registry.root / "spam" / "1.json").read_text())
    assert stored["model_data"] == model
    assert stored["model_file"] is None
