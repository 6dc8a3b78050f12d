"""Ctrl-C on a running simulation."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.timeout(180),
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc"),
]


def processes_of(folder: Path) -> list[int]:
    """Processes that know the folder from their environment or their command."""
    wanted = str(folder).encode()
    found = []
    for entry in Path("/proc").iterdir():
        try:
            known = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if entry.name.isdigit() and wanted in known:
            found.append(int(entry.name))
    return found


def test_ctrl_c_ends_all_processes_and_keeps_the_folder(
    assembly: Path, mail: Path, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", "from evenshard.cli import main; main()", "simulate"]
    options = ["--data", str(mail), "--assembly", str(assembly), "--hosts", "2"]
    process = subprocess.Popen(
        [*command, *options, "--param", "Epochs=100000"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        assert any("epoch=2;" in line for line in process.stdout)
        # 2 launchers, 2 torchruns and 2 ranks.
        assert len(processes_of(tmp_path / ".evenshard")) >= 6
        os.kill(process.pid, signal.SIGINT)
        rest, _ = process.communicate(timeout=90)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 130
    assert processes_of(tmp_path / ".evenshard") == []
    (folder,) = (tmp_path / ".evenshard" / "runs").iterdir()
    document = json.loads((folder / "result.json").read_text())
    assert document["status"] == "Stopped"
    assert [(step["name"], step["status"]) for step in document["steps"]] == [
        ("Preflight", "Succeeded"),
        ("Train", "Stopped"),
    ]
    assert document["steps"][1]["metrics"]["train:loss"]
    assert document["model_package"] is None
    assert f"Execution {folder.name} Stopped" in rest
