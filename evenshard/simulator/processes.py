"""Starts and ends child processes: each in a session of its own, none left behind.

Not even by SIGKILL: a process that has children here has a guard, which outlives it and ends them.
"""

import atexit
import functools
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from evenshard.simulator import marked

_KEPT_VARIABLES: Final = ("HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "LOGNAME", "TMPDIR", "USER")
_MARK: Final = "EVENSHARD_SIMULATOR"
"""The variable that all processes below this one have, whatever session they are in."""


@dataclass(frozen=True, slots=True)
class _Guard:
    process: subprocess.Popen[str]
    value: str
    """Of the variable."""

    def tell(self, line: str) -> None:
        """Send a line, if it still listens."""
        assert self.process.stdin is not None  # noqa: S101 - a pipe, see _guard
        with suppress(OSError):
            self.process.stdin.write(line)
            self.process.stdin.flush()

    def dismiss(self) -> None:
        """End it: nothing is left to be guarded."""
        self.process.communicate(marked.OVER)


@functools.cache
def _guard() -> _Guard:
    """Start this process' guard."""
    value = f"{os.getpid()}-{secrets.token_hex(8)}"
    process = subprocess.Popen(
        # -I -S: the standard library alone, so that it is up at once.
        [sys.executable, "-I", "-S", marked.__file__, f"{_MARK}={value}"],
        env=clean_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        # What ends this process' group, or its terminal, must not end the guard.
        start_new_session=True,
    )
    guard = _Guard(process, value)
    atexit.register(guard.dismiss)
    return guard


def finish_if_killed(draft: Path, file: Path) -> None:
    """Have a draft put in the place of a file if this process is killed before it could do so."""
    _guard().tell(marked.finish_line(draft, file))


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
    errors: IO[str] | None = None,
) -> subprocess.Popen[str]:
    """Start a child in its own session, so that Ctrl-C reaches this process alone.

    Args:
        arguments: the command.
        environment: all its variables, but for the mark by which the guard knows it.
        working_directory: of the child.
        errors: where its standard error goes, and it has a pipe to its input then; without, it has
            no input, and output and errors come back as one stream of text lines.
    """
    return subprocess.Popen(
        arguments,
        env={**environment, _MARK: _guard().value},
        cwd=working_directory,
        stdin=subprocess.DEVNULL if errors is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if errors is None else errors,
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
