import errno
import json
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from evenshard.errors import UsageError
from evenshard.simulator import Event, SimulationRequest, Status, simulate
from evenshard.simulator.events import Noted, RunStarted, StepEnded, StepStarted
from evenshard.simulator.run_folder import new_run
from tests.unit.simulator.assemblies import definition_of, training_step, write_assembly
from tests.unit.simulator.small_pipeline import HANDLER, PARAMETERS, small_pipeline


@pytest.fixture
def request_(tmp_path: Path) -> SimulationRequest:
    (tmp_path / "data").mkdir()
    assembly = write_assembly(tmp_path / "assembly", small_pipeline())
    (assembly / "asset.abc" / "handler.py").write_text(HANDLER)
    return SimulationRequest(
        framework="pytorch",
        data=tmp_path / "data",
        assembly=assembly,
        state_folder=tmp_path / "state",
    )


def nothing(_event: Event) -> None:
    """A report that nobody reads."""


def test_a_run_takes_the_branch_of_its_condition(request_: SimulationRequest) -> None:
    events: list[Event] = []
    result = simulate(request_, events.append)
    assert result.status is Status.SUCCEEDED
    assert [(step.name, step.status) for step in result.steps] == [
        ("Look", Status.SUCCEEDED),
        ("Gate", Status.SUCCEEDED),
        ("Again", Status.SUCCEEDED),
    ]
    assert isinstance(events[0], RunStarted)
    started = [event.name for event in events if isinstance(event, StepStarted)]
    ended = [event.name for event in events if isinstance(event, StepEnded)]
    assert started == ended == ["Look", "Gate", "Again"]


def test_a_failing_gate_ends_the_execution_with_the_numbers(request_: SimulationRequest) -> None:
    result = simulate(replace(request_, parameters={"Threshold": "0.75"}), nothing)
    assert result.status is Status.FAILED
    assert result.steps[-1].name == "Reject"
    assert result.steps[-1].failure_reason == "score 0.5 is below 0.75"
    assert result.failure_reason == "Step Reject failed. score 0.5 is below 0.75"


def test_nothing_runs_after_a_failed_step(request_: SimulationRequest) -> None:
    result = simulate(replace(request_, hosts=9), nothing)
    assert [(step.name, step.status) for step in result.steps] == [("Look", Status.FAILED)]
    assert result.failure_reason == (
        "Step Look failed. ValueError: too many hosts: set InstanceCount to 8 or less"
    )


def test_result_json_is_what_the_result_says(request_: SimulationRequest) -> None:
    result = simulate(request_, nothing)
    text = (result.folder / "result.json").read_text()
    assert text == result.text()
    document = json.loads(text)
    assert list(document) == [
        "execution_id",
        "pipeline",
        "status",
        "failure_reason",
        "parameters",
        "steps",
        "model_package",
        "faults",
        "resumed_from",
    ]
    assert document["pipeline"] == "small-pytorch"
    assert document["status"] == "Succeeded"
    assert document["model_package"] is None
    assert document["parameters"]["TrainDataUri"] == "s3://evenshard-data/train/"
    assert document["parameters"]["InstanceCount"] == 2
    assert list(document["steps"][0]) == [
        "name",
        "type",
        "status",
        "seconds",
        "failure_reason",
        "hosts",
        "metrics",
        "attempts",
        "interruptions",
    ]
    definition = json.loads((result.folder / "definition.json").read_text())
    assert definition == small_pipeline()


def test_a_parameter_wins_over_where_data_lies(request_: SimulationRequest) -> None:
    given = {"TrainDataUri": "s3://evenshard-data/other/"}
    result = simulate(replace(request_, parameters=given), nothing)
    assert result.parameters["TrainDataUri"] == "s3://evenshard-data/other/"
    assert result.parameters["TestDataUri"] == "s3://evenshard-data/test/"


def test_a_definition_that_is_refused_is_a_failed_run(request_: SimulationRequest) -> None:
    definition = small_pipeline()
    definition["Steps"].append({"Name": "Tune", "Type": "Tuning"})
    assembly = write_assembly(request_.state_folder / "other", definition)
    result = simulate(replace(request_, assembly=assembly), nothing)
    assert result.status is Status.FAILED
    assert result.steps == []
    assert result.failure_reason is not None
    assert result.failure_reason.startswith("ValidationException: Steps.Tune.Type: steps of type")
    assert (result.folder / "result.json").is_file()


def test_wrong_usage_leaves_no_run(request_: SimulationRequest, tmp_path: Path) -> None:
    wrong = [
        replace(request_, parameters={"Treshold": "1"}),
        replace(request_, parameters={"Threshold": "high"}),
        replace(request_, hosts=3, parameters={"InstanceCount": "2"}),
        replace(request_, data=tmp_path / "none"),
        replace(request_, framework="tensorflow"),
        replace(request_, assembly=tmp_path),
        replace(request_, assignment="alphabetical"),
        replace(request_, parameters={"InstanceCount": "65"}),
    ]
    for request in wrong:
        with pytest.raises(UsageError):
            simulate(request, nothing)
    runs = request_.state_folder / "runs"
    assert not runs.exists() or list(runs.iterdir()) == []


def test_more_hosts_than_one_machine_holds_are_refused(request_: SimulationRequest) -> None:
    with pytest.raises(UsageError, match=r"InstanceCount is 20000: at most 64 hosts .* 64 or less"):
        simulate(replace(request_, parameters={"InstanceCount": "20000"}), nothing)


def test_more_hosts_in_the_definition_itself_are_refused_too(request_: SimulationRequest) -> None:
    resources = {"InstanceCount": 65, "InstanceType": "ml.g5.xlarge"}
    definition = definition_of(training_step(ResourceConfig=resources), parameters=PARAMETERS)
    assembly = write_assembly(request_.state_folder / "other", definition)
    result = simulate(replace(request_, assembly=assembly), nothing)
    assert result.failure_reason is not None
    assert "ResourceConfig.InstanceCount: 65 is above 64" in result.failure_reason


@pytest.mark.parametrize("in_the_way", ["state", "state/runs"])
def test_a_file_where_runs_are_kept_is_wrong_usage(
    request_: SimulationRequest, tmp_path: Path, in_the_way: str
) -> None:
    file = tmp_path / in_the_way
    file.parent.mkdir(exist_ok=True)
    file.write_text("")
    with pytest.raises(UsageError, match=r"cannot be made below .*state/runs/: .*is no file"):
        simulate(request_, nothing)


def test_a_folder_without_permission_is_wrong_usage(
    request_: SimulationRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **_options: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(UsageError, match=r"Permission denied\. .*you may write to"):
        simulate(request_, nothing)


@pytest.mark.parametrize("kind", [RunStarted, StepStarted])
def test_a_fault_of_ours_leaves_a_failed_result(
    request_: SimulationRequest, kind: type[Event]
) -> None:
    def fail(event: Event) -> None:
        if not isinstance(event, kind):
            return
        raise LookupError("not foreseen")

    with pytest.raises(LookupError) as error:
        simulate(request_, fail)
    (file,) = (request_.state_folder / "runs").glob("*/result.json")
    assert str(file) in error.value.__notes__[0]
    document = json.loads(file.read_text())
    assert document["status"] == "Failed"
    assert document["failure_reason"] == "InternalFailure: LookupError: not foreseen"
    assert [step["status"] for step in document["steps"]] == (
        ["Failed"] if kind is StepStarted else []
    )


def test_hosts_and_instance_count_may_agree(request_: SimulationRequest) -> None:
    result = simulate(replace(request_, hosts=3, parameters={"InstanceCount": "3"}), nothing)
    assert result.parameters["InstanceCount"] == 3


def test_a_draw_names_the_seed_that_repeats_it(request_: SimulationRequest) -> None:
    events: list[Event] = []
    simulate(replace(request_, assignment="random"), events.append)
    noted = [event.text for event in events if isinstance(event, Noted)]
    assert [text for text in noted if text.startswith("The draw is --assignment random:")]


def test_a_run_says_where_the_bucket_of_its_data_lies(request_: SimulationRequest) -> None:
    events: list[Event] = []
    simulate(request_, events.append)
    noted = [event.text for event in events if isinstance(event, Noted)]
    assert noted == [f"s3://evenshard-data/ is the folder {request_.data}/ of this machine."]


def test_a_parameter_of_broken_bytes_is_written_as_json_escapes_it(
    request_: SimulationRequest,
) -> None:
    result = simulate(replace(request_, parameters={"TrainDataUri": "s3://b/\udcff/"}), nothing)
    document = json.loads((result.folder / "result.json").read_bytes())
    assert document["parameters"]["TrainDataUri"] == "s3://b/\udcff/"
    assert result.text().isascii()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_the_run_and_keeps_its_folder(
    request_: SimulationRequest, number: signal.Signals
) -> None:
    before = signal.getsignal(number)

    def interrupt(event: Event) -> None:
        if isinstance(event, StepStarted) and event.name == "Gate":
            signal.raise_signal(number)

    result = simulate(request_, interrupt)
    assert result.status is Status.STOPPED
    assert [(step.name, step.status) for step in result.steps] == [
        ("Look", Status.SUCCEEDED),
        ("Gate", Status.STOPPED),
    ]
    assert json.loads((result.folder / "result.json").read_text())["status"] == "Stopped"
    assert signal.getsignal(number) is before


def test_execution_ids_sort_by_time(tmp_path: Path) -> None:
    ids = [new_run(tmp_path)[0] for _ in range(50)]
    assert [one[:10] for one in ids] == sorted(one[:10] for one in ids)
    assert len(set(ids)) == 50
    assert all(len(one) == 12 and one.isalnum() and one == one.lower() for one in ids)
