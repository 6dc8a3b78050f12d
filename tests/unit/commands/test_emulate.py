"""`evenshard emulate`, as it is typed."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import boto3
import pytest

from evenshard import cli
from evenshard.repository import ROOT

_COMMAND = "from evenshard.cli import main; main()"


def start(folder: Path, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _COMMAND, "emulate", "--port", "0", *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_serves_until_it_is_told_to_end(tmp_path: Path, number: signal.Signals) -> None:
    with start(tmp_path, "--json") as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        environment = told["environment"]
        assert environment["AWS_ENDPOINT_URL"] == told["url"]
        client = boto3.client(
            "sagemaker",
            endpoint_url=told["url"],
            region_name=environment["AWS_REGION"],
            aws_access_key_id=environment["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=environment["AWS_SECRET_ACCESS_KEY"],
        )
        assert client.list_training_jobs()["TrainingJobSummaries"] == []
        process.send_signal(number)
        assert process.wait(100) == 130
        assert process.stdout.read() == ""


def test_says_what_to_export(tmp_path: Path) -> None:
    with start(tmp_path) as process:
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        exports = [next(line for line in lines if line.startswith("export AWS_ENDPOINT_URL="))]
        process.send_signal(signal.SIGINT)
        exports += [line for line in lines if line.startswith("export ")]
        assert process.wait(100) == 130
    names = {line.split("=")[0].removeprefix("export ") for line in exports}
    assert {"AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_REGION"} <= names


class _WithoutMoto:
    """Finds modules as where moto is not installed."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "moto" or name.startswith("moto."):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def test_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for module in [name for name in sys.modules if name.startswith(("moto", "evenshard.emulator"))]:
        monkeypatch.delitem(sys.modules, module)
    # Importing it anew would leave its package the half of it for later tests to find.
    monkeypatch.delattr("evenshard.emulator", raising=False)
    monkeypatch.setattr(sys, "meta_path", [_WithoutMoto(), *sys.meta_path])
    assert _exit_code(monkeypatch, tmp_path) == 2
    assert "pip install -r requirements-emulator.txt" in capsys.readouterr().err


def test_a_port_that_is_taken_is_wrong_usage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert _exit_code(monkeypatch, tmp_path, "--port", str(port)) == 2
    assert f"--port {port} cannot be served: Address already in use. G" in capsys.readouterr().err


def _exit_code(monkeypatch: pytest.MonkeyPatch, folder: Path, *options: str) -> object:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["evenshard", "emulate", *options])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return ended.value.code
