"""Starts and ends child processes: each in a session of its own, none left behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

_KEPT_VARIABLES: Final = ("HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "LOGNAME", "TMPDIR", "USER")
_PROC: Final = Path("/proc")


def clean_environment() -> dict[str, str]:
    """The variables of a child: few of the user's, no credentials, Python's own folder first."""
    environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    bin_folder = str(Path(sys.executable).parent)
    environment["PATH"] = os.pathsep.join((bin_folder, os.environ.get("PATH", os.defpath)))
    environment["PYTHONUNBUFFERED"] = "1"
    return environment


def start(
    arguments: Sequence[str],
    *,
    environment: Mapping[str, str],
    working_directory: Path,
    input_pipe: bool = False,
) -> subprocess.Popen[str]:
    """Start a child in its own session, so that Ctrl-C reaches this process alone.

    Its output and errors come back as one stream of text lines.
    """
    return subprocess.Popen(
        arguments,
        env=dict(environment),
        cwd=working_directory,
        stdin=subprocess.PIPE if input_pipe else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )


def run_to_end(
    arguments: Sequence[str],
    *,
    environment: Mapping[str, str],
    working_directory: Path,
    limit_s: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a child to its end and return its output; end it too when this process is interrupted.

    Raises:
        subprocess.TimeoutExpired: it ran longer than `limit_s`.
    """
    process = start(arguments, environment=environment, working_directory=working_directory)
    try:
        output, _ = process.communicate(timeout=limit_s)
    finally:
        kill_group(process)
    return subprocess.CompletedProcess(process.args, process.returncode, output)


def kill_group(process: subprocess.Popen[str]) -> None:
    """Kill whatever is left of a child's process group, and reap the child."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(BrokenPipeError):
                pipe.close()


def kill_marked(marker: str) -> None:
    """Kill every process whose environment holds `marker` (NAME=value).

    A container's end takes all its processes with it. torchrun gives each rank a session of its
    own, so no process group holds them all; what they share is their environment.
    """
    deadline = time.monotonic() + 5
    while (pids := marked_processes(marker)) and time.monotonic() < deadline:
        for pid in pids:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def marked_processes(marker: str) -> list[int]:
    """Process ids whose environment holds `marker`, this process left out."""
    found = _marked_in_proc(marker) if _PROC.is_dir() else _marked_by_ps(marker)
    return [pid for pid in found if pid != os.getpid()]


def _marked_in_proc(marker: str) -> list[int]:
    wanted = marker.encode()
    pids = []
    for entry in _PROC.iterdir():
        if not entry.name.isdigit():
            continue
        # Processes end while we look, and other users' are closed to us.
        with suppress(OSError):
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                pids.append(int(entry.name))
    return pids


def _marked_by_ps(marker: str) -> list[int]:
    listing = subprocess.run(
        ["ps", "-axww", "-E", "-o", "pid=,command="],  # noqa: S607 - macOS keeps it in /bin
        capture_output=True,
        text=True,
        check=False,
    )
    lines = (line.split() for line in listing.stdout.splitlines())
    return [int(words[0]) for words in lines if marker in words]
