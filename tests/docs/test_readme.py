"""What the README tells people to type exists."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from evenshard.repository import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
EVENSHARD = str(Path(sys.executable).parent / "evenshard")


def _typed(command: str) -> list[str]:
    """Lines of the README's code blocks that start with `command`, comments dropped."""
    blocks = re.findall(r"^```\w*\n(.*?)^```$", README, flags=re.DOTALL | re.MULTILINE)
    lines = [line.strip() for block in blocks for line in block.splitlines()]
    return [line.split("  #")[0] for line in lines if line.startswith(command)]


def test_every_make_target_of_the_readme_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = {shlex.split(line)[1] for line in _typed("make ")}
    assert targets >= {"demo", "test", "synth", "deploy"}
    assert targets <= set(re.findall(r"^([a-z-]+):", makefile, flags=re.MULTILINE))


def _help(command: str) -> str:
    shown = subprocess.run(
        [EVENSHARD, command, "--help"],
        capture_output=True,
        text=True,
        check=True,
        env={"COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"},
    )
    return shown.stdout


@pytest.mark.parametrize("command", ["data", "emulate", "settings", "simulate"])
def test_every_option_of_the_readme_exists(command: str) -> None:
    typed = _typed(f".venv/bin/evenshard {command} ")
    assert typed
    options = {word for line in typed for word in shlex.split(line) if word.startswith("--")}
    shown = _help(command)
    assert {option for option in options if option not in shown} == set()


PUBLIC_OPTIONS = {
    "data": {"--shards", "--skew", "--seed", "--json", "--help"},
    "emulate": {"--port", "--devices-per-host", "--json", "--help"},
    "settings": {"--explain", "--context", "--json", "--help"},
    "simulate": {
        "--framework",
        "--data",
        "--hosts",
        "--devices-per-host",
        "--param",
        "--assignment",
        "--fault",
        "--resume",
        "--assembly",
        "--json",
        "--help",
    },
}


@pytest.mark.parametrize("command", sorted(PUBLIC_OPTIONS))
def test_the_options_are_frozen(command: str) -> None:
    """Renaming or removing one breaks users: it needs a major version and a changelog entry."""
    shown = set(re.findall(r"(?<![\w-])--[a-z-]+", _help(command)))
    assert shown == PUBLIC_OPTIONS[command]
