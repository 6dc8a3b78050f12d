"""The TensorFlow pipeline, from the synthesized definition to the registered model."""

import json
from pathlib import Path

import pytest

from tests.simulation.pipeline_runs import RunPipeline
from tests.simulation.test_pipeline import METRICS

pytestmark = pytest.mark.timeout(240)  # TensorFlow starts in three processes; two noisy cores


def test_the_pipeline_registers_a_model(run: RunPipeline) -> None:
    outcome = run(
        framework="tensorflow", hosts=2, parameters={"Epochs": "2", "LearningRate": "0.05"}
    )
    document = outcome.document
    assert document["status"] == "Succeeded", document["failure_reason"]
    assert outcome.step_names == ["Preflight", "Train", "Evaluate", "QualityGate", "Register"]
    assert document["model_package"]["group"] == "evenshard-dev-tensorflow"
    assert sorted(outcome.step("Train")["metrics"]) == METRICS
    folder = Path(outcome.result.folder) / "steps" / "Evaluate" / "hosts" / "algo-1"
    file = folder / "processing" / "output" / "evaluation" / "evaluation.json"
    evaluation = json.loads(file.read_text())
    assert evaluation["records"] == 60
    assert evaluation["binary_classification_metrics"]["accuracy"]["value"] >= 0.95
