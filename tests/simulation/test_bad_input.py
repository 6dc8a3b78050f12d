"""Bad data and bad definitions: the message says what was given, what is allowed, what to do."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.simulation.pipeline_runs import (
    Edit,
    Json,
    Run,
    RunPipeline,
    step_of,
    with_hyperparameters,
)
from tests.simulation.small_mail import write_shard, write_splits

pytestmark = pytest.mark.timeout(180)

GOOD = {"text": "meeting report", "label": 0}


def failure_of(outcome: Run, step: str) -> str:
    """The reason of the failed step, which is the last one that ran."""
    document = outcome.document
    assert document["status"] == "Failed"
    assert document["model_package"] is None
    assert outcome.step_names[-1] == step
    reason: str = outcome.step(step)["failure_reason"]
    assert reason in document["failure_reason"]
    return reason


@pytest.mark.parametrize("make", [True, False])
def test_no_shards(run: RunPipeline, tmp_path: Path, make: bool) -> None:  # noqa: FBT001 - a table
    data = write_splits(tmp_path / "mail", train=())
    if make:
        (data / "train").mkdir()
    reason = failure_of(run(data=data), "Preflight")
    assert "No shards under s3://evenshard-data/train/" in reason
    assert "evenshard data" in reason


def test_more_hosts_than_shards(run: RunPipeline) -> None:
    outcome = run(hosts=8)
    reason = failure_of(outcome, "Preflight")
    assert "8 hosts but 6 shards under s3://evenshard-data/train/" in reason
    assert "algo-7, algo-8 would get no data" in reason
    assert "InstanceCount to 6" in reason
    assert outcome.step_names == ["Preflight"]
    assert not (outcome.result.folder / "steps" / "Train").exists()


def test_a_malformed_line(run: RunPipeline, tmp_path: Path) -> None:
    data = write_splits(tmp_path / "mail", train=(20, 20))
    write_shard(data, "train/part-00001.jsonl", [*[GOOD] * 4, '{"text": "cut', *[GOOD] * 4])
    reason = failure_of(run(data=data, hosts=2), "Train")
    assert reason.startswith("AlgorithmError: ")
    assert "part-00001.jsonl, line 5" in reason
    assert "exit code: " in reason


def test_a_record_without_label(run: RunPipeline, tmp_path: Path) -> None:
    data = write_splits(tmp_path / "mail", train=(20, 20))
    write_shard(data, "train/part-00000.jsonl", [*[GOOD] * 6, {"text": "x"}, GOOD])
    reason = failure_of(run(data=data, hosts=1), "Train")
    assert "part-00000.jsonl, line 7" in reason
    assert "label" in reason


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"batchsize": "8"}, ("batchsize", "batch_size")),
        ({"learning_rate": "fast"}, ("learning_rate", "fast")),
    ],
)
def test_hyperparameters_that_the_trainer_does_not_take(
    run: RunPipeline,
    edited: Callable[[Edit], Path],
    given: dict[str, str],
    told: tuple[str, ...],
) -> None:
    outcome = run(assembly=edited(with_hyperparameters(**given)), hosts=1)
    reason = failure_of(outcome, "Train")
    assert all(word in reason for word in told)


def test_a_program_that_ends_without_a_model(
    run: RunPipeline, edited: Callable[[Edit], Path]
) -> None:
    change = with_hyperparameters(program="tests/simulation/programs/no_model.py")
    outcome = run(assembly=edited(change), hosts=1)
    assert "model" in failure_of(outcome, "Train")


def test_two_hosts_that_write_one_model_file(
    run: RunPipeline, edited: Callable[[Edit], Path]
) -> None:
    change = with_hyperparameters(program="tests/simulation/programs/one_name.py")
    reason = failure_of(run(assembly=edited(change), hosts=2), "Train")
    assert "algo-1 and algo-2 wrote weights.bin" in reason
    assert "SageMaker would" in reason


def _rename_field(definition: Json) -> None:
    arguments = step_of(definition, "Train")["Arguments"]
    arguments["InputDataConfigs"] = arguments.pop("InputDataConfig")


def _change_type(definition: Json) -> None:
    step_of(definition, "Train")["Type"] = "Tuning"


def _bare_get(definition: Json) -> None:
    arguments = step_of(definition, "Train")["Arguments"]
    arguments["HyperParameters"]["epochs"] = {"Get": "Parameters.Epochs"}


@pytest.mark.parametrize(
    ("change", "message", "steps"),
    [
        (_rename_field, "Steps.Train.Arguments.InputDataConfigs", []),
        (_change_type, "Steps.Train.Type: steps of type Tuning", []),
        (_bare_get, "HyperParameters.epochs: 1 is not a string", ["Preflight", "Train"]),
    ],
)
def test_definitions_that_mean_something_else_are_refused(
    run: RunPipeline,
    edited: Callable[[Edit], Path],
    change: Edit,
    message: str,
    steps: list[str],
) -> None:
    outcome = run(assembly=edited(change))
    assert outcome.document["status"] == "Failed"
    assert message in outcome.document["failure_reason"]
    assert outcome.step_names == steps


def test_result_json_of_a_failed_run_is_complete(run: RunPipeline) -> None:
    outcome = run(hosts=8)
    assert json.loads(outcome.result.text()) == outcome.document
    assert outcome.document["parameters"]["InstanceCount"] == 8
