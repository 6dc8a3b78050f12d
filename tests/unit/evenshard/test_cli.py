import errno
import json
import subprocess
import sys
import tomllib

import pytest

from evenshard import cli
from evenshard.errors import ExitCode, RefusedError, UsageError
from evenshard.repository import ROOT


def _exit_code(*arguments: str, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr("sys.argv", ["evenshard", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("given, allowed, do"), ExitCode.USAGE),
        (RefusedError("given, allowed, do"), ExitCode.FAILED),
    ],
)
@pytest.mark.parametrize("as_json", [True, False])
def test_errors_become_exit_codes_and_one_message(
    error: Exception,
    code: ExitCode,
    as_json: bool,  # noqa: FBT001 - a parametrized value
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_arguments: object, **_options: object) -> None:
        raise error

    monkeypatch.setattr(cli, "app", fail)
    given = ["data", "--json"] if as_json else ["data"]
    assert _exit_code(*given, monkeypatch=monkeypatch) == code
    captured = capsys.readouterr()
    if as_json:
        assert json.loads(captured.out) == {"error": "given, allowed, do"}
        assert captured.err == ""
    else:
        assert captured.err == "Error: given, allowed, do\n"
        assert captured.out == ""


def test_ctrl_c_is_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_arguments: object, **_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "app", interrupted)
    assert _exit_code("data", monkeypatch=monkeypatch) == ExitCode.INTERRUPTED


def test_an_unknown_command_is_wrong_usage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _exit_code("trian", monkeypatch=monkeypatch) == ExitCode.USAGE
    assert "trian" in capsys.readouterr().err


def test_without_a_command_there_is_help_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _exit_code(monkeypatch=monkeypatch) == ExitCode.USAGE
    captured = capsys.readouterr()
    assert "Usage: evenshard" in captured.out
    assert "simulate" in captured.out
    assert captured.err == ""


def test_json_without_a_command_says_what_commands_there_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _exit_code("--json", monkeypatch=monkeypatch) == ExitCode.USAGE
    captured = capsys.readouterr()
    assert "data or emulate or settings or simulate" in json.loads(captured.out)["error"]
    assert captured.err == ""


def test_version_is_that_of_the_project(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert _exit_code("--version", monkeypatch=monkeypatch) == ExitCode.DONE
    assert capsys.readouterr().out == f"evenshard {project['version']}\n"


def test_an_unforeseen_error_is_one_document_and_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_arguments: object, **_options: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(cli, "app", fail)
    assert _exit_code("simulate", "--json", monkeypatch=monkeypatch) == ExitCode.FAILED
    captured = capsys.readouterr()
    assert "ZeroDivisionError: division by zero" in json.loads(captured.out)["error"]
    assert captured.err.startswith("Traceback")


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_is_not_an_error(
    option: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _exit_code(option, monkeypatch=monkeypatch) == ExitCode.DONE
    commands = capsys.readouterr().out.partition("Commands:\n")[2]
    assert len(commands.splitlines()) == 4
    assert "..." not in commands


def test_a_path_that_cannot_be_used_is_told_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_arguments: object, **_options: object) -> None:
        error = PermissionError(errno.EACCES, "Permission denied", "closed/folder")
        error.add_note("What the run left: it.")
        raise error

    monkeypatch.setattr(cli, "app", fail)
    assert _exit_code("data", monkeypatch=monkeypatch) == ExitCode.FAILED
    assert capsys.readouterr().err == (
        "Error: closed/folder: Permission denied. See that the path is right, that you may use it, "
        "and that its disk has room. What the run left: it.\n"
    )


def test_an_error_of_the_system_without_a_path_is_ours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_arguments: object, **_options: object) -> None:
        raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")

    monkeypatch.setattr(cli, "app", fail)
    assert _exit_code("data", monkeypatch=monkeypatch) == ExitCode.FAILED
    assert capsys.readouterr().err.startswith("Traceback")


def test_no_command_pays_for_the_sdk_before_it_needs_it() -> None:
    program = (
        "import sys, evenshard.cli; "
        "sys.exit(' '.join({'boto3', 'botocore', 'moto', 'sagemaker', 'torch'} & {*sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stderr.strip() == ""
