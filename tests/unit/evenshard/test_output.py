"""Readers that leave, full disks, other encodings: the run goes on."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.simulator.assemblies import write_assembly
from tests.unit.simulator.small_pipeline import HANDLER, small_pipeline

SAY = "from evenshard.output import say; say('{}'); say('{}')"
COMMAND = [sys.executable, "-c", "from evenshard.cli import main; main()"]


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    """A run of the small pipeline, which prints long after its first line."""
    (tmp_path / "data").mkdir()
    assembly = write_assembly(tmp_path / "assembly", small_pipeline())
    (assembly / "asset.abc" / "handler.py").write_text(HANDLER)
    return [*COMMAND, "simulate", "--data", "data", "--assembly", "assembly"]


def test_a_run_whose_reader_leaves_comes_to_its_end(arguments: list[str], tmp_path: Path) -> None:
    process = subprocess.Popen(
        arguments, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith("Pipeline small-pytorch")
    process.stdout.close()
    _, errors = process.communicate(timeout=100)
    assert errors == ""
    assert process.returncode == 0
    (file,) = (tmp_path / ".evenshard" / "runs").glob("*/result.json")
    assert json.loads(file.read_text())["status"] == "Succeeded"


@pytest.mark.parametrize(
    ("extra", "code"), [(["--json"], 0), (["--hosts", "9"], 1), (["--hosts", "0", "--json"], 2)]
)
def test_exit_codes_stay_when_nobody_reads(
    arguments: list[str], tmp_path: Path, extra: list[str], code: int
) -> None:
    process = subprocess.Popen(
        [*arguments, *extra], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(timeout=100) == code


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk always full")
@pytest.mark.parametrize(
    ("command", "code"),
    [([sys.executable, "-c", SAY.format("first", "second")], 0), ([*COMMAND, "--version"], 1)],
)
def test_a_full_disk_under_the_output_is_told_once(command: list[str], code: int) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.stderr == "Error: the output cannot be written: No space left on device.\n"
    assert done.returncode == code


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-8", "ascii"])
def test_what_the_terminal_cannot_show_is_escaped_as_in_json(encoding: str) -> None:
    text = "ä \N{CHECK MARK} \N{PARTY POPPER} \udcff"
    program = f"from evenshard.output import say; say({text!r})"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONIOENCODING": encoding},
        capture_output=True,
        check=False,
    )
    assert done.stderr == b""
    shown = done.stdout.decode("utf-8" if encoding == "ascii" else encoding).rstrip("\n")
    assert "\\udcff" in shown
    assert json.loads(f'"{shown}"') == text
