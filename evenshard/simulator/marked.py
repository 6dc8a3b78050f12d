"""Finds and kills processes by a variable of their environment. Standard library only.

Run as a script it is the guard of a simulator, `python -I -S marked.py NAME=value`: it reads lines
from whoever started it, who holds the other end of the pipe until it is gone, however that came.
"""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

OVER: Final = "over\n"
"""The line after which a guard has nothing to do; the others are from `finish_line`."""
_PROC: Final = Path("/proc")
_LIMIT_S: Final = 5.0
_BIRTH_S: Final = 0.2
"""At most, between a process' birth and its own environment: until then it has its parent's."""


def kill_marked(marker: str) -> None:
    """Kill every process whose environment holds `marker` (NAME=value).

    A container's end takes all its processes with it. torchrun gives each rank a session of its
    own, so no process group holds them all; what they share is their environment.
    """
    deadline = time.monotonic() + _LIMIT_S
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


def finish_line(draft: Path, file: Path) -> str:
    """The line that has a guard put `draft` in the place of `file` when it is left alone."""
    return json.dumps([str(draft.resolve()), str(file.resolve())]) + "\n"


def main() -> None:
    """Wait for the end of the input. Unless it says that all is over, end what is left."""
    finished: list[list[str]] = []
    for line in sys.stdin:
        if line == OVER:
            return
        finished.append(json.loads(line))
    kill_marked(sys.argv[1])
    time.sleep(_BIRTH_S)
    kill_marked(sys.argv[1])
    for draft, file in finished:
        with suppress(OSError):  # it is gone: the file was written after all
            Path(draft).replace(file)


if __name__ == "__main__":
    main()
