import json

import pytest

from evenshard.simulator.errors import DefinitionError, StepFailedError
from evenshard.simulator.steps.register import run_register
from tests.unit.simulator.assemblies import Json
from tests.unit.simulator.stage import Stage

MODEL = "s3://results/model.tar.gz"
METRICS = {"binary_classification_metrics": {"accuracy": {"value": 0.97}}}


@pytest.fixture
def stage(stage: Stage) -> Stage:
    stage.put(MODEL, b"model")
    stage.put("s3://results/evaluation.json", json.dumps(METRICS).encode())
    return stage


def register_step(**arguments: object) -> Json:
    statistics = {"ContentType": "application/json", "S3Uri": "s3://results/evaluation.json"}
    base: Json = {
        "ModelPackageGroupName": "spam",
        "ModelApprovalStatus": "Approved",
        "InferenceSpecification": {"Containers": [{"Image": "image:1", "ModelDataUrl": MODEL}]},
        "ModelMetrics": {"ModelQuality": {"Statistics": statistics}},
    }
    return {"Name": "Register", "Type": "RegisterModel", "Arguments": {**base, **arguments}}


def test_registers_the_next_version_with_its_metrics(stage: Stage) -> None:
    run_register(stage.run_of(register_step()))
    outcome = run_register(stage.run_of(register_step()))
    assert outcome.package is not None
    assert outcome.package.document() == {
        "group": "spam",
        "version": 2,
        "approval_status": "Approved",
        "model_data": MODEL,
        "metrics": METRICS,
    }
    stored = json.loads((stage.registry.root / "spam" / "2.json").read_text())
    assert stored["model_data"] == MODEL
    assert stored["execution_id"] == "abc123abc123"
    assert outcome.properties["ModelPackageArn"] == stored["arn"]


def test_approval_is_pending_unless_the_step_says_otherwise(stage: Stage) -> None:
    step = register_step(ModelMetrics={})
    del step["Arguments"]["ModelApprovalStatus"]
    package = run_register(stage.run_of(step)).package
    assert package is not None
    assert package.approval_status == "PendingManualApproval"
    assert package.metrics == {}


def test_a_model_that_does_not_exist_is_refused(stage: Stage) -> None:
    containers = [{"Image": "image:1", "ModelDataUrl": "s3://results/other.tar.gz"}]
    step = register_step(InferenceSpecification={"Containers": containers})
    with pytest.raises(StepFailedError, match="there is no object s3://results/other"):
        run_register(stage.run_of(step))
    assert stage.registry.versions("spam") == []


@pytest.mark.parametrize("content", [b"[1]", b"{"])
def test_metrics_that_are_no_json_object_are_refused(stage: Stage, content: bytes) -> None:
    stage.put("s3://results/evaluation.json", content)
    with pytest.raises(StepFailedError, match=r"evaluation\.json"):
        run_register(stage.run_of(register_step()))


def test_models_of_two_containers_are_refused(stage: Stage) -> None:
    containers = [{"Image": "image:1", "ModelDataUrl": MODEL}] * 2
    with pytest.raises(DefinitionError, match="2 containers"):
        run_register(stage.run_of(register_step(InferenceSpecification={"Containers": containers})))
