import json
import re
import sys
from pathlib import Path

import pytest

from evenshard import cli
from evenshard.commands import simulate_report
from evenshard.simulator import Result, Status, execution
from evenshard.simulator.result import HostRecord, ModelPackage, StepRecord
from tests.unit.simulator.assemblies import write_assembly
from tests.unit.simulator.small_pipeline import HANDLER, small_pipeline
from training.contract.layout import FRAMEWORKS


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The options of a run that succeeds, in an empty working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    assembly = write_assembly(tmp_path / "assembly", small_pipeline())
    (assembly / "asset.abc" / "handler.py").write_text(HANDLER)
    return ["--data", "data", "--assembly", "assembly"]


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["evenshard", "simulate", *arguments])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert isinstance(stop.value.code, int)
    return stop.value.code


def test_prints_steps_and_where_everything_is(
    options: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, *options) == 0
    lines = capsys.readouterr().out.splitlines()
    (folder,) = Path(".evenshard/runs").iterdir()
    assert lines[0] == f"Pipeline small-pytorch, execution {folder.name}"
    assert "  InstanceCount=2" in lines
    assert "Look (Lambda) ..." in lines
    assert "  OutputParameters['score'] 0.5 >= Threshold 0.5: true" in [
        line.replace("Look.", "") for line in lines
    ]
    assert any(re.match(r"Again Succeeded after \d+\.\d", line) for line in lines)
    assert f"Execution {folder.name} Succeeded" in lines
    assert f"Everything it left: {folder}/" in lines


def test_json_prints_result_json_and_nothing_else(
    options: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, *options, "--json") == 0
    captured = capsys.readouterr()
    (file,) = Path(".evenshard/runs").glob("*/result.json")
    assert captured.out == file.read_text()
    assert captured.err == ""


def test_a_failed_run_exits_with_1_and_says_why(
    options: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, *options, "--hosts", "9") == 1
    captured = capsys.readouterr()
    assert "Look Failed after" in captured.out
    assert captured.err.startswith("Error: Step Look failed. ValueError: too many hosts")
    assert run(monkeypatch, *options, "--hosts", "9", "--json") == 1
    assert json.loads(capsys.readouterr().out)["status"] == "Failed"


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--param", "Treshold=1"], "no parameter Treshold"),
        (["--param", "Threshold=high"], "Threshold=high is not of type Float"),
        (["--param", "Threshold"], "--param Threshold is not NAME=VALUE"),
        (["--param", "=1"], "--param =1 is not NAME=VALUE"),
        (["--param", "Threshold=1", "--param", "Threshold=2"], "is given as 1 and as 2"),
        (["--hosts", "3", "--param", "InstanceCount=2"], "InstanceCount is given as 3 and as 2"),
        (["--hosts", "0"], "--hosts 0 is not allowed. It takes a whole number, 1 to 64."),
        (["--hosts", "abc"], "--hosts abc is not allowed"),
        (["--devices-per-host", "many"], "--devices-per-host many is not allowed"),
        (["--devices-per-host", "17"], "a whole number, 1 to 16"),
        (["--param", "InstanceCount=20000"], "InstanceCount is 20000: at most 64 hosts"),
        (["--framework", "jax"], "--framework jax: no pipeline's name ends in -jax"),
        (["--assignment", "alphabetical"], "--assignment alphabetical is unknown"),
        (["--fault", "sigterm"], "--fault sigterm: '' is no host, rank and moment"),
        (["--fault", "sigterm:algo-3@step=1"], "there are only 2 hosts, algo-1 to algo-2"),
        (["--fault", "sigkill:algo-2/1"], "algo-2 has only ranks 0 to 0 of its own"),
        (["--fault", "corrupt:train/none"], "there is no file data/train/none"),
        (["--resume", "abc"], "--resume abc is no run below .evenshard/runs/"),
        (["--assembly", "none"], "no cloud assembly in none"),
        (["--data", "none"], "--data none is not a folder"),
        (["--data", ""], "--data is empty, an unset variable perhaps"),
        (["--hosts", "1_0"], "--hosts 1_0 is not allowed"),
        (["--hosts", "9" * 5000], "It takes a whole number, 1 to 64."),
        (["--fast"], "--hosts). `evenshard simulate --help` says what it takes."),
    ],
)
def test_wrong_usage_exits_with_2(
    options: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    extra: list[str],
    message: str,
) -> None:
    assert run(monkeypatch, *options, *extra) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
    assert run(monkeypatch, *options, *extra, "--json") == 2
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert list(document) == ["error"]
    assert message in document["error"]


def test_a_file_in_the_way_of_the_runs_is_wrong_usage(
    options: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(".evenshard").write_text("")
    assert run(monkeypatch, *options) == 2
    assert "cannot be made below .evenshard/runs/" in capsys.readouterr().err


def test_a_fault_of_ours_prints_one_document_and_where_the_run_is(
    options: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise LookupError("not foreseen")

    monkeypatch.setattr(execution, "run_order", fail)
    assert run(monkeypatch, *options, "--json") == 1
    captured = capsys.readouterr()
    (file,) = Path(".evenshard/runs").glob("*/result.json")
    message = json.loads(captured.out)["error"]
    assert message.startswith("LookupError: not foreseen. This is a fault of evenshard")
    assert str(file) in message
    assert "Traceback" in captured.err
    assert json.loads(file.read_text())["status"] == "Failed"


def test_a_model_on_no_disk_has_no_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package = ModelPackage(
        group="spam", version=1, approval_status="Approved", model_data="s3://b/m", metrics={}
    )
    result = Result(execution_id="abc", pipeline="p", folder=tmp_path, model_package=package)
    simulate_report.print_result(result)
    printed = capsys.readouterr().out
    assert "model_data s3://b/m" in printed
    assert "on this machine" not in printed


def test_help_offers_every_pipeline(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "--help") == 0
    shown = capsys.readouterr().out
    assert set(FRAMEWORKS) <= set(re.findall(r"[a-z]+", shown))


def test_help_cuts_nothing_off(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert run(monkeypatch, "--help") == 0
    shown = capsys.readouterr().out
    assert "…" not in shown
    assert "--devices-per-host N" in shown
    assert "corrupt:train/part-00003.jsonl" in re.sub(r"\s", "", shown)


def test_data_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch) == 2


def test_the_end_shows_hosts_totals_and_the_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts = [
        HostRecord(name="algo-1", objects=4, bytes=5_938_274, records=2978),
        HostRecord(name="algo-2", objects=4, bytes=3_688_207, records=1851),
    ]
    evaluated = [HostRecord(name="algo-1", objects=2, bytes=10)]
    result = Result(
        execution_id="abc",
        pipeline="p",
        folder=tmp_path,
        status=Status.SUCCEEDED,
        steps=[
            StepRecord(name="Train", type="Training", hosts=hosts),
            StepRecord(name="Evaluate", type="Processing", hosts=evaluated),
        ],
        model_package=ModelPackage(
            group="spam", version=3, approval_status="Approved", model_data="s3://b/m", metrics={}
        ),
        model_file=tmp_path / "model.tar.gz",
    )
    simulate_report.print_result(result)
    printed = capsys.readouterr().out
    assert (
        "What the hosts of Train read\n"
        "  host    objects      bytes  records\n"
        "  algo-1        4  5,938,274    2,978\n"
        "  algo-2        4  3,688,207    1,851\n"
        "  all           8  9,626,481    4,829\n"
    ) in printed
    assert "Evaluate" not in printed
    assert "Model package spam, version 3 (Approved)" in printed
    assert f"on this machine {tmp_path / 'model.tar.gz'}" in printed


def test_a_failed_job_says_where_its_hosts_logs_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts = [HostRecord(name="algo-1", objects=1, bytes=1)]
    steps = [StepRecord(name="Train", type="Training", hosts=hosts, status=Status.FAILED)]
    result = Result(
        execution_id="abc", pipeline="p", folder=tmp_path, status=Status.FAILED, steps=steps
    )
    simulate_report.print_result(result)
    logs = f"What the hosts of Train printed: {tmp_path}/steps/Train/hosts/algo-*/log.txt"
    assert logs in capsys.readouterr().out.splitlines()
    steps[0].status = result.status = Status.STOPPED
    simulate_report.print_result(result)
    printed = capsys.readouterr().out
    assert "log.txt" not in printed
    assert "checkpoints of this run: --resume abc" in printed


def test_unknown_records_are_shown_as_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts = [
        HostRecord(name="algo-1", objects=1, bytes=1, records=1),
        HostRecord(name="algo-2", objects=1, bytes=1),
    ]
    steps = [StepRecord(name="Train", type="Training", hosts=hosts)]
    result = Result(execution_id="abc", pipeline="p", folder=tmp_path, steps=steps)
    simulate_report.print_result(result)
    assert capsys.readouterr().out.count("?") == 2
