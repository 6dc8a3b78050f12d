"""A reader that leaves: the run goes on, and nothing complains at the end."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.simulator.assemblies import write_assembly
from tests.unit.simulator.small_pipeline import HANDLER, small_pipeline

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
    _, errors = process.communicate(timeout=60)
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
    assert process.wait(timeout=60) == code
