"""Hosts without a launcher: one process each, with the variables that its container would have."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

CODE_ROOT = Path(__file__).resolve().parents[2]
RUN_LIMIT_S = 180
"""A process that takes longer hangs."""


def run_bare(program: str, environments: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
    """Run a program once per environment, all at the same time.

    Returns:
        The JSON object that each wrote to its standard output.
    """
    with ExitStack() as stack:
        # Files: of two pipes, one could fill up while the other is read.
        logs = [stack.enter_context(TemporaryFile("w+")) for _ in environments]
        processes = [
            stack.enter_context(_running(program, environment, log))
            for environment, log in zip(environments, logs, strict=True)
        ]
        try:
            outputs = [process.communicate(timeout=RUN_LIMIT_S)[0] for process in processes]
        finally:
            for process in processes:
                if process.poll() is None:
                    process.kill()
        for process, log in zip(processes, logs, strict=True):
            log.seek(0)
            assert process.returncode == 0, log.read()
    return [json.loads(output) for output in outputs]


def _running(program: str, environment: Mapping[str, str], log: IO[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, program],
        cwd=CODE_ROOT,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(CODE_ROOT), **environment},
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
    )
