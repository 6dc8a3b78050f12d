"""The workers of one host, started, watched and ended together, as torchrun does with its ranks.

Run by the launcher: `python -m training.launcher.workers SCRATCH_FOLDER VARIABLES COMMAND...`.
"""

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from training.launcher.diagnosis import EXCEPTION_FILE, FAILURES_FILE, LOGS_FOLDER
from training.launcher.exceptions import FILE_VARIABLE
from training.launcher.framework import SHUTDOWN_S
from training.launcher.stop import StopSignal

_POLL_S: Final = 0.05
_PEER_GRACE_S: Final = 5.0
"""How long the workers beside a failed one may take to end: they can train no more."""


def main(scratch: Path, variables: Sequence[Mapping[str, str]], command: Sequence[str]) -> int:
    """Run the workers to their end.

    Args:
        scratch: where `diagnosis` looks.
        variables: of each worker, by local rank, beside what all have.
        command: what each runs, as `worker` takes it.

    Returns:
        0 when all of them ended well, 1 otherwise; `diagnosis` then finds their exit codes.
    """
    stop = StopSignal()
    stop.install()
    workers = [
        _start(scratch / LOGS_FOLDER / str(local_rank), own, command)
        for local_rank, own in enumerate(variables)
    ]
    exit_codes = _watch(workers, stop)
    if not any(exit_codes.values()):
        return 0
    error = f"stopped by {stop.received.name}" if stop.received is not None else None
    report = {"exit_codes": exit_codes, "error": error}
    (scratch / FAILURES_FILE).write_text(json.dumps(report), encoding="utf-8")
    return 1


def _start(
    folder: Path, variables: Mapping[str, str], command: Sequence[str]
) -> subprocess.Popen[bytes]:
    folder.mkdir(parents=True)
    exception_file = {FILE_VARIABLE: str(folder / EXCEPTION_FILE)}
    return subprocess.Popen(
        [sys.executable, "-m", "training.launcher.worker", *command],
        env={**os.environ, **variables, **exception_file},
    )


def _watch(workers: Sequence[subprocess.Popen[bytes]], stop: StopSignal) -> dict[int, int]:
    """Wait for all workers; end them when one fails or a stop signal comes.

    Returns:
        Their exit codes by local rank, without those that had to be killed.
    """
    told, deadline_s = False, math.inf
    while alive := [worker for worker in workers if worker.poll() is None]:
        failed = any(worker.returncode for worker in workers)
        if failed or stop.received is not None:
            if not told:
                for worker in alive:
                    worker.send_signal(signal.SIGTERM)
            told = True
            # Also of those that were told to stop: without the failed one they agree on nothing.
            grace_s = _PEER_GRACE_S if failed else SHUTDOWN_S
            deadline_s = min(deadline_s, time.monotonic() + grace_s)
        if time.monotonic() > deadline_s:
            return _kill(workers, alive)
        time.sleep(_POLL_S)
    return {rank: worker.returncode for rank, worker in enumerate(workers)}


def _kill(
    workers: Sequence[subprocess.Popen[bytes]], alive: Sequence[subprocess.Popen[bytes]]
) -> dict[int, int]:
    """Kill those alive.

    Returns:
        The exit codes of the others: these say what happened.
    """
    for worker in alive:
        worker.kill()
        worker.wait()
    return {rank: w.returncode for rank, w in enumerate(workers) if w not in alive}


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3:]))
