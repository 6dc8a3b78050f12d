"""`evenshard settings`, as it is typed."""

import json
import subprocess
import sys

import pytest

from evenshard import cli


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["evenshard", "settings", *arguments])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert isinstance(stop.value.code, int)
    return stop.value.code


def test_shows_the_default_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch) == 0
    lines = capsys.readouterr().out.splitlines()
    assert 'prefix = "evenshard-dev"' in lines
    assert 'training.capacity.kind = "on-demand"' in lines
    assert not [line for line in lines if line.startswith(" ")]


def test_explains_another_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "--explain", "-c", "env=prod") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Environment prod, ")
    assert lines[0].endswith("prod.toml")
    [at] = [index for index, line in enumerate(lines) if line.startswith("training.instance_count")]
    assert "= 2  (line " in lines[at]
    assert lines[at + 1] == "    Training hosts, 1..64; never more than there are shards."
    assert "permissions_boundary = (not set)  (default)" in lines


def test_json_is_one_document(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "--json", "-c", "env=prod") == 0
    document = json.loads(capsys.readouterr().out)
    keys = {one["key"]: one["value"] for one in document["settings"]}
    assert keys["prefix"] == "evenshard-prod"
    assert isinstance(keys["training.allowed_instance_types"], list)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-c", "env=none"], "no environment called 'none'. Allowed: dev, prod"),
        (["-c", "prod"], "-c prod is not env=NAME"),
        (["-c", "env="], "-c env= is not env=NAME"),
        (["-c", "env=dev", "-c", "env=prod"], "-c is given 2 times"),
    ],
)
def test_a_wrong_environment_is_wrong_usage(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    assert run(monkeypatch, *arguments) == 2
    assert said in capsys.readouterr().err


def test_a_refused_file_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = subprocess.CompletedProcess([], 1, stdout="", stderr="dev.toml: 1 wrong value(s).\n")
    monkeypatch.setattr("evenshard.commands.settings.subprocess.run", lambda *_, **__: refused)
    assert run(monkeypatch, "--json") == 1
    assert json.loads(capsys.readouterr().out) == {"error": "dev.toml: 1 wrong value(s)."}
