"""Runs the processes of executions: a few at once, the others wait their turn."""

import logging
import subprocess
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from evenshard.emulator.sagemaker.state import EXECUTING, FAILED, STOPPED, STOPPING, state_of
from evenshard.repository import ROOT
from evenshard.simulator.errors import internal_failure
from evenshard.simulator.journal import JOURNAL_FILE, Journal, RunEnded
from evenshard.simulator.processes import clean_environment

WORKER: Final = "evenshard.simulator.worker"
LOG_FILE: Final = "worker.log"
_CLOSE_S: Final = 15
"""How long executions may take to stop when the emulator ends, before their hosts are killed."""
_log = logging.getLogger("evenshard.emulator")


@dataclass(slots=True)
class _Run:
    folder: Path
    future: Future[None] | None = None
    process: subprocess.Popen[bytes] | None = None
    told: bool = False


@dataclass(slots=True)
class Supervisor:
    """The processes of executions, by the folder of each."""

    at_once: int
    """Executions that run side by side, 1 or more: each uses several processors."""
    _runs: dict[Path, _Run] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _pool: ThreadPoolExecutor = field(init=False)
    _closed: bool = False

    def __post_init__(self) -> None:
        self._pool = ThreadPoolExecutor(self.at_once, thread_name_prefix="execution")

    def submit(self, folder: Path) -> None:
        """Run the execution of a folder as soon as its turn has come."""
        run = _Run(folder)
        with self._lock:
            if self._closed:
                raise RuntimeError("the emulator ends, and starts nothing any more")
            self._runs[folder] = run
            run.future = self._pool.submit(self._run, run)

    def stop(self, folder: Path) -> None:
        """Tell an execution to stop; one that still waits has ended at once."""
        with self._lock:
            run = self._runs.get(folder)
            if run is None:
                return
            if not run.told:
                run.told = True
                self._tell(run)
            waiting = run.future is not None and run.future.cancel()
        if waiting:
            settle(folder, STOPPED)

    def close(self) -> None:
        """Stop every execution; after a while without mercy. No process of them is left."""
        with self._lock:
            self._closed = True
            runs = list(self._runs.values())
        for run in runs:
            self.stop(run.folder)
        # Hosts get minutes to save their state when an execution is stopped. Whoever ends the
        # emulator wants the terminal back: told a second time, a worker kills its hosts.
        for _ in range(2):
            if self._have_ended(runs):
                break
            for run in runs:
                self._tell(run)
        for run in runs:
            if run.process is not None and run.process.poll() is None:
                run.process.kill()
        self._pool.shutdown()

    def _have_ended(self, runs: list[_Run]) -> bool:
        for run in runs:
            if run.process is not None:
                with suppress(subprocess.TimeoutExpired):
                    run.process.wait(_CLOSE_S)
        return all(run.process is None or run.process.poll() is not None for run in runs)

    def _tell(self, run: _Run) -> None:
        if run.process is not None and run.process.poll() is None:
            run.process.terminate()

    def _run(self, run: _Run) -> None:
        try:
            self._run_process(run)
        except Exception as error:  # whatever it is: nobody looks at the future
            _log.exception("%s", run.folder)
            settle(run.folder, FAILED, internal_failure(error))
            raise

    def _run_process(self, run: _Run) -> None:
        ends = _ends(run.folder)
        with (run.folder / LOG_FILE).open("ab") as log:
            with self._lock:
                if not run.told:
                    run.process = _start(run.folder, log.fileno())
            if run.process is None:
                settle(run.folder, STOPPED)
                return
            code = run.process.wait()
            assert run.process.stdin is not None  # noqa: S101 - a pipe, see _start
            run.process.stdin.close()
        if _ends(run.folder) > ends:
            return  # it has told its end itself, and may even be retried already
        if run.told:  # before it heeded signals
            settle(run.folder, STOPPED)
        else:
            settle(
                run.folder,
                FAILED,
                f"InternalFailure: the execution's process ended with code {code} and left no "
                f"result. What it printed: {run.folder / LOG_FILE}",
            )


def _start(folder: Path, log: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", WORKER, str(folder)],
        env=clean_environment(),
        # The package of this very source tree, wherever the emulator was started.
        cwd=ROOT,
        # Its other end closes when this process is gone, however: then the worker stops.
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=log,
        start_new_session=True,
    )


def _ends(folder: Path) -> int:
    """How often an execution has ended: once more with every retry."""
    entries = Journal(folder / JOURNAL_FILE).entries()
    return sum(isinstance(entry.what, RunEnded) for entry in entries)


def settle(folder: Path, status: str, reason: str | None = None) -> None:
    """Write the end of an execution whose process cannot, unless it has ended already."""
    journal = Journal(folder / JOURNAL_FILE)
    if state_of(journal.entries()).status in (EXECUTING, STOPPING):
        journal.add(RunEnded(status=status, failure_reason=reason))
