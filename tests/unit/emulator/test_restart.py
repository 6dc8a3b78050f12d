"""What one emulator leaves to the next."""

import time
from pathlib import Path

import pytest

from evenshard.emulator.sagemaker import ControlPlane
from evenshard.errors import UsageError
from evenshard.simulator.events import StepStarted
from evenshard.simulator.journal import Journal
from tests.unit.emulator.local import deployed


def test_what_ran_is_known_to_the_next_emulator_and_what_was_running_is_over(
    tmp_path: Path,
) -> None:
    with deployed(tmp_path) as local:
        done = local.start()
        local.ended(done)
        running = local.start(WaitFor="never")
        local.wait_for_step(running, "Look")
        began = time.monotonic()
    assert time.monotonic() - began < 60
    with deployed(tmp_path) as local:
        assert local.describe(done)["PipelineExecutionStatus"] == "Succeeded"
        assert list(local.steps(done)) == ["Look", "Gate", "Register"]
        assert local.describe(running)["PipelineExecutionStatus"] == "Stopped"
        listed = local.sagemaker.list_pipeline_executions(PipelineName="tiny")
        assert len(listed["PipelineExecutionSummaries"]) == 2
        # The first server's port is closed: what goes on asks this one.
        local.put("never")
        local.sagemaker.retry_pipeline_execution(PipelineExecutionArn=running)
        assert local.ended(running)["PipelineExecutionStatus"] == "Succeeded", local.steps(running)


def test_an_execution_of_an_emulator_that_was_killed_has_failed(tmp_path: Path) -> None:
    with deployed(tmp_path) as local:
        arn = local.start()
        local.ended(arn)
    journal = tmp_path / "runs" / arn.rpartition("/")[2] / "journal.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(line for line in lines if "RunEnded" not in line))
    Journal(journal).add(StepStarted(name="Later", type="Fail"))
    with deployed(tmp_path) as local:
        described = local.describe(arn)
    assert described["PipelineExecutionStatus"] == "Failed"


def test_two_control_planes_do_not_share_a_folder(tmp_path: Path) -> None:
    with ControlPlane(state_folder=tmp_path), pytest.raises(UsageError, match="another emulator"):
        ControlPlane(state_folder=tmp_path)
    ControlPlane(state_folder=tmp_path).close()
