import json

import pytest

from evenshard import cli
from evenshard.errors import ExitCode, RefusedError, UsageError


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


def test_help_is_not_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _exit_code("--help", monkeypatch=monkeypatch) == ExitCode.DONE
