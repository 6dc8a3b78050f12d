import json
from collections.abc import Callable

import pytest

from evenshard.simulator.errors import DefinitionError, StepFailedError
from evenshard.simulator.events import Noted
from evenshard.simulator.steps.processing import run_processing
from tests.unit.simulator.assemblies import processing_step
from tests.unit.simulator.stage import Stage

WORK = """
import json, os, pathlib
base = pathlib.Path(os.environ["SAGEMAKER_BASE_DIR"])
config = json.loads((base / "config/processingjobconfig.json").read_text())
host = json.loads((base / "config/resourceconfig.json").read_text())["current_host"]
size = sum(f.stat().st_size for f in (base / "processing/input/test").iterdir())
report = {"host": host, "size": size, "name": config["ProcessingJobName"]}
(base / "processing/output/evaluation/report.json").write_text(json.dumps(report))
(base / "output/message").write_text("accuracy 0.75" + "!" * 2000)
"""


def test_inputs_go_in_and_outputs_come_out(stage: Stage, cast: Callable[[str], None]) -> None:
    cast(WORK)
    run = stage.run_of(processing_step())
    outcome = run_processing(run)
    report = json.loads(stage.store.read("s3://results/evaluation/report.json"))
    assert report == {"host": "algo-1", "size": 5, "name": "pipelines-abc123abc123-Evaluate-local"}
    assert outcome.properties["ExitMessage"] == "accuracy 0.75" + "!" * (1024 - 13)
    assert [host.document() for host in run.record.hosts] == [
        {"name": "algo-1", "objects": 1, "bytes": 5, "records": None}
    ]


def test_messages_name_paths_as_the_container_sees_them(
    stage: Stage, cast: Callable[[str], None]
) -> None:
    cast(WORK + "(base / 'output/message').write_text(f'read {base}/processing/input')")
    outcome = run_processing(stage.run_of(processing_step()))
    assert outcome.properties["ExitMessage"] == "read /opt/ml/processing/input"


def test_a_failing_host_says_why(stage: Stage, cast: Callable[[str], None]) -> None:
    cast(WORK + "(base / 'output/message').write_text('no model'); raise SystemExit(2)")
    with pytest.raises(StepFailedError) as error:
        run_processing(stage.run_of(processing_step()))
    assert str(error.value) == "AlgorithmError: no model, exit code: 2"
    assert stage.store.list("s3://results/") == []


def test_outputs_of_equal_names_are_noted(stage: Stage, cast: Callable[[str], None]) -> None:
    cast(WORK)
    resources = {"ClusterConfig": {"InstanceCount": 2, "InstanceType": "ml.m5.xlarge"}}
    run_processing(stage.run_of(processing_step(ProcessingResources=resources)))
    (noted,) = [event for event in stage.events if isinstance(event, Noted)]
    assert "evaluation/report.json: algo-1 and algo-2 wrote it" in noted.text


@pytest.mark.parametrize(
    "path", ["/opt/ml/input/test", "/srv/test", "/opt/ml/processing/../x", "processing/x"]
)
def test_refuses_local_paths_elsewhere(stage: Stage, path: str) -> None:
    step = processing_step()
    step["Arguments"]["ProcessingInputs"][0]["S3Input"]["LocalPath"] = path
    with pytest.raises(DefinitionError, match="is not below /opt/ml/processing/"):
        run_processing(stage.run_of(step))
