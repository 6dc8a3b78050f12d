"""Whole executions in which something goes wrong: tried again, stopped, resumed."""

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from evenshard.errors import UsageError
from evenshard.simulator import Event, SimulationRequest, simulate
from evenshard.simulator.events import FaultHappened
from evenshard.simulator.pipeline.retries import JOB_INTERNAL_ERROR
from tests.unit.simulator.assemblies import (
    Json,
    channel,
    definition_of,
    training_step,
    write_assembly,
)
from tests.unit.simulator.scripts import trainer
from tests.unit.simulator.stage import notes

EXECUTION_ID = "Execution.PipelineExecutionId"
PARAMETERS: list[Json] = [
    {"Name": name, "Type": "String", "DefaultValue": ""}
    for name in ("TrainDataUri", "ValidationDataUri", "TestDataUri", "Note")
]
STOP = ["sigterm:algo-1@step=3", "sigterm:algo-2@step=4"]


@pytest.fixture
def request_(tmp_path: Path, cast: Callable[[str], None]) -> SimulationRequest:
    cast(trainer())
    for split in ("train", "validation"):
        (tmp_path / "data" / split).mkdir(parents=True)
        (tmp_path / "data" / split / "part-0").write_text("x")
    policies = [
        {
            "ExceptionType": [JOB_INTERNAL_ERROR],
            "IntervalSeconds": 60,
            "BackoffRate": 1,
            "MaxAttempts": 1,
        }
    ]
    checkpoints = {"On": "/", "Values": ["s3://results", {"Get": EXECUTION_ID}, "checkpoints/"]}
    step = training_step(
        CheckpointConfig={"S3Uri": {"Std:Join": checkpoints}},
        InputDataConfig=[
            channel("train", "s3://evenshard-data/train/", "ShardedByS3Key"),
            channel("validation", "s3://evenshard-data/validation/", "FullyReplicated"),
        ],
    )
    definition = definition_of({**step, "RetryPolicies": policies}, parameters=PARAMETERS)
    return SimulationRequest(
        framework="pytorch",
        data=tmp_path / "data",
        assembly=write_assembly(tmp_path / "assembly", definition),
        state_folder=tmp_path / "state",
        grace_s=4.0,
    )


def run(request: SimulationRequest, **changes: object) -> tuple[Json, list[Event]]:
    events: list[Event] = []
    result = simulate(replace(request, **changes), events.append)  # type: ignore[arg-type] # fields
    document: Json = json.loads((result.folder / "result.json").read_text())
    return document, events


def test_a_lost_machine_is_tried_again_from_the_checkpoints(request_: SimulationRequest) -> None:
    fault = "sigkill:algo-2@step=2"
    document, events = run(request_, faults=[fault])
    assert document["status"] == "Succeeded"
    assert document["steps"][0]["attempts"] == 2
    assert document["faults"][0]["fault"] == fault
    assert document["faults"][0]["after_s"] > 0
    assert any("is tried again after 60 s (0.6 s here)" in text for text in notes(events))


def test_a_second_loss_is_beyond_the_policy(request_: SimulationRequest) -> None:
    document, _ = run(request_, faults=["sigkill:algo-2@step=2", "sigkill:algo-1@step=5"] * 2)
    assert document["status"] == "Failed"
    assert document["steps"][0]["attempts"] == 2
    assert "InternalServerError" in document["failure_reason"]


def test_a_stopped_job_stops_its_step_and_the_execution_and_can_be_resumed(
    request_: SimulationRequest,
) -> None:
    stopped, _ = run(request_, faults=STOP, parameters={"Note": "mine"})
    assert (stopped["status"], stopped["failure_reason"]) == ("Stopped", None)
    assert [step["status"] for step in stopped["steps"]] == ["Stopped"]
    resumed, events = run(request_, resume=stopped["execution_id"])
    assert resumed["status"] == "Succeeded"
    assert resumed["resumed_from"] == stopped["execution_id"]
    assert resumed["parameters"]["Note"] == "mine"
    folder = request_.state_folder / "runs" / resumed["execution_id"] / "steps/Train/hosts"
    assert "began=3\n" in (folder / "algo-1" / "log.txt").read_text()
    assert "began=4\n" in (folder / "algo-2" / "log.txt").read_text()
    assert any(f"checkpoints of {stopped['execution_id']}" in text for text in notes(events))


def test_going_on_from_a_run_that_succeeded_says_that_nothing_is_left(
    request_: SimulationRequest,
) -> None:
    first, _ = run(request_)
    assert first["status"] == "Succeeded"
    _, events = run(request_, resume=first["execution_id"])
    assert any("without more epochs there is nothing left" in text for text in notes(events))
    stopped, _ = run(request_, faults=STOP)
    _, events = run(request_, resume=stopped["execution_id"])
    assert not any("nothing left" in text for text in notes(events))


def test_a_run_without_checkpoints_cannot_be_resumed(request_: SimulationRequest) -> None:
    first, _ = run(request_, faults=["sigkill:algo-1/0", "sigkill:algo-2/0"])
    assert first["status"] == "Failed"
    document, _ = run(request_, resume=first["execution_id"])
    assert "that run left no checkpoints" in document["failure_reason"]


def test_only_runs_can_be_resumed(request_: SimulationRequest) -> None:
    with pytest.raises(UsageError, match=r"--resume nothing is no run .* There is none yet"):
        run(request_, resume="nothing")


def test_a_fault_that_never_happens_is_told(request_: SimulationRequest) -> None:
    document, events = run(request_, faults=["sigterm:algo-1@step=60"])
    assert document["status"] == "Succeeded"
    assert document["faults"] == [{"fault": "sigterm:algo-1@step=60", "after_s": None}]
    assert any("never happened" in text for text in notes(events))


def test_a_corrupt_object_arrives_damaged(request_: SimulationRequest, tmp_path: Path) -> None:
    document, events = run(request_, faults=["corrupt:train/part-0"])
    folder = request_.state_folder / "runs" / document["execution_id"] / "steps/Train/hosts"
    got = folder / "algo-1" / "input" / "data" / "train" / "part-0"
    assert got.read_bytes() == bytes([ord("x") ^ 0xFF])
    assert (tmp_path / "data" / "train" / "part-0").read_text() == "x"
    assert document["faults"][0]["after_s"] is not None
    assert any(isinstance(event, FaultHappened) for event in events)


def test_an_object_that_is_not_there_cannot_be_corrupt(request_: SimulationRequest) -> None:
    with pytest.raises(UsageError, match=r"there is no file .*part-7"):
        run(request_, faults=["corrupt:train/part-7"])


def test_the_wait_of_a_retry_is_scaled(request_: SimulationRequest) -> None:
    began_s = time.monotonic()
    run(request_, faults=["sigkill:algo-2"])
    assert time.monotonic() - began_s < 30
