"""Runs the hosts of one job side by side: a process tree each, logs as they come, all ended.

A host here is what a container is on SageMaker: its first process gets the signals, and when that
process ends the others of its tree are killed.
"""

import queue
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from evenshard.simulator.marked import kill_marked, marked_processes
from evenshard.simulator.processes import kill_group, start
from training.contract.layout import BASE_DIR_VARIABLE

LOG_FILE: Final = "log.txt"
STOP_GRACE_S: Final = 120.0
"""SageMaker's time between SIGTERM and SIGKILL. Source: docs/facts.md 4."""
INTERRUPT_GRACE_S: Final = 10.0
"""The same after Ctrl-C: whoever presses it wants the terminal back."""
_PEERS_GRACE_S: Final = 15.0
"""How long the other hosts may take to notice that one has failed, and to say so."""
_POLL_S: Final = 0.05
_DRAIN_S: Final = 5.0

OnLine = Callable[[str, str], None]
"""Called with a host's name and one line of its output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCommand:
    """What one host runs."""

    host: str
    base_dir: Path
    """Its /opt/ml; log.txt is written there."""
    arguments: Sequence[str]
    environment: Mapping[str, str]
    working_directory: Path

    @property
    def marker(self) -> str:
        """The variable that all processes of this host have and no others."""
        return f"{BASE_DIR_VARIABLE}={self.environment[BASE_DIR_VARIABLE]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostExit:
    """How one host ended."""

    host: str
    return_code: int
    """As subprocess gives it: negative, the signal that ended it."""
    stopped: bool
    """It was told to stop because another host had failed, or the time was up."""
    told: bool = False
    """It was told to stop for a reason of its own: its instance was to be taken away."""
    lost: bool = False
    """The whole machine went away, with its disk."""


@dataclass(slots=True, kw_only=True)
class _Running:
    command: HostCommand
    process: subprocess.Popen[str]
    reader: threading.Thread
    stopped: bool = False
    told: bool = False
    lost: bool = False
    signalled_s: float | None = None
    """When the first SIGTERM went out."""
    ended: bool = False


class JobTimeoutError(Exception):
    """The hosts ran longer than the job's MaxRuntimeInSeconds."""


Watch = Callable[["RunningHosts"], None]
"""Called again and again while hosts run, in the thread of `run_hosts`."""


def _nobody(_hosts: "RunningHosts") -> None:
    """Watch nothing."""


def run_hosts(
    commands: Sequence[HostCommand],
    on_line: OnLine,
    *,
    limit_s: float,
    grace_s: float | None = None,
    interrupt_grace_s: float = INTERRUPT_GRACE_S,
    watch: Watch = _nobody,
) -> list[HostExit]:
    """Run all hosts to their end. When one fails, the others are stopped, as the job is over.

    Args:
        commands: one per host.
        on_line: gets every line of output, in this thread.
        limit_s: the job's MaxRuntimeInSeconds.
        grace_s: between SIGTERM and SIGKILL; SageMaker's own when None.
        interrupt_grace_s: the same after KeyboardInterrupt, if that is less.
        watch: looks at the hosts, and may do something to them.

    Raises:
        JobTimeoutError: the limit passed. No process is left.
        KeyboardInterrupt: passed on. No process is left.
    """
    hosts = RunningHosts(commands, on_line, STOP_GRACE_S if grace_s is None else grace_s)
    try:
        for command in commands:
            hosts.start(command)
        hosts.wait(limit_s, watch)
    except BaseException as error:
        is_interrupt = isinstance(error, KeyboardInterrupt)
        hosts.stop(min(interrupt_grace_s, hosts.grace_s) if is_interrupt else hosts.grace_s)
        raise
    finally:
        hosts.kill()
    return hosts.exits()


@dataclass(slots=True)
class RunningHosts:
    """The hosts of one job while they run, and what can be done to them."""

    commands: Sequence[HostCommand]
    on_line: OnLine
    grace_s: float
    running: list[_Running] = field(default_factory=list)
    lines: "queue.SimpleQueue[tuple[str, str]]" = field(default_factory=queue.SimpleQueue)
    failed_s: float | None = None
    """When the first host had failed."""

    def tell(self, host: str) -> None:
        """Send SIGTERM to a host's first process, as when its instance is to be taken away."""
        for each in self._alive():
            if each.command.host == host:
                each.told = True
                self._signal([each])

    def tell_all(self) -> None:
        """Tell every host that still runs and has not been told: the job is stopped."""
        for each in self._alive():
            if not each.told:
                self.tell(each.command.host)

    def lose(self, host: str) -> None:
        """Kill a host with all its processes at once: the machine is gone."""
        for each in self._alive():
            if each.command.host == host:
                each.lost = True
                kill_marked(each.command.marker)

    def processes(self, host: str) -> list[int]:
        """Process ids of everything that runs on a host."""
        markers = [each.command.marker for each in self.running if each.command.host == host]
        return [process_id for marker in markers for process_id in marked_processes(marker)]

    def lost(self) -> list[str]:
        """The hosts whose machines are gone."""
        return [host.command.host for host in self.running if host.lost]

    def alive(self) -> list[str]:
        """The hosts whose first process runs."""
        return [host.command.host for host in self._alive()]

    def start(self, command: HostCommand) -> None:
        """Start one host."""
        process = start(
            command.arguments,
            environment=command.environment,
            working_directory=command.working_directory,
        )
        reader = threading.Thread(target=self._read, args=(command, process.stdout), daemon=True)
        self.running.append(_Running(command=command, process=process, reader=reader))
        reader.start()

    def _read(self, command: HostCommand, output: IO[str]) -> None:
        # A line reaches the file when it is printed: the file is what one looks at in a hang.
        with (
            (command.base_dir / LOG_FILE).open("w", encoding="utf-8", buffering=1) as log,
            suppress(ValueError),  # the pipe is closed under us when a host is killed
        ):
            for line in output:
                log.write(line)
                self.lines.put((command.host, line.rstrip("\n")))

    def wait(self, limit_s: float, watch: Watch) -> None:
        """Wait until all hosts have ended.

        Raises:
            JobTimeoutError: the limit passed; the hosts still run.
        """
        deadline = time.monotonic() + limit_s
        while self._alive():
            self._pass_on_lines(_POLL_S)
            watch(self)
            now = time.monotonic()
            if now > deadline:
                raise JobTimeoutError
            self._end_survivors(now)
            self._kill_the_deaf(now)
        self._drain()

    def _end_survivors(self, now: float) -> None:
        """Stop the other hosts of a failed one, which may first notice it by themselves."""
        if self.failed_s is None:
            if any(host.process.returncode for host in self.running if host.ended):
                self.failed_s = now
        elif now > self.failed_s + _PEERS_GRACE_S:
            self._stop(self._alive())

    def _kill_the_deaf(self, now: float) -> None:
        """Kill the hosts that still run when the grace after their signal has passed."""
        for host in self._alive():
            if host.signalled_s is not None and now > host.signalled_s + self.grace_s:
                kill_marked(host.command.marker)

    def stop(self, grace_s: float) -> None:
        """Tell every host to stop, as SageMaker does, and give it time to save its state."""
        self._stop(self._alive())
        deadline = time.monotonic() + grace_s
        while self._alive() and time.monotonic() < deadline:
            self._pass_on_lines(_POLL_S)

    def kill(self) -> None:
        """End every process of every host, whatever state it is in."""
        # By command: an interrupt may have come between the start of a host and its listing. And
        # first: a pipe that a process still holds open cannot be closed under its reader.
        for command in self.commands:
            kill_marked(command.marker)
        for host in self.running:
            kill_group(host.process)
        for host in self.running:
            host.reader.join(_DRAIN_S)

    def exits(self) -> list[HostExit]:
        """How all hosts ended."""
        return [
            HostExit(
                host=host.command.host,
                return_code=host.process.returncode,
                stopped=host.stopped and not host.told,
                told=host.told,
                lost=host.lost,
            )
            for host in self.running
        ]

    def _alive(self) -> list[_Running]:
        for host in self.running:
            if not host.ended and host.process.poll() is not None:
                host.ended = True
                kill_marked(host.command.marker)
        return [host for host in self.running if not host.ended]

    def _stop(self, hosts: Sequence[_Running]) -> None:
        untold = [host for host in hosts if not host.stopped]
        for host in untold:
            host.stopped = True
        self._signal(untold)

    def _signal(self, hosts: Sequence[_Running]) -> None:
        for host in hosts:
            host.signalled_s = host.signalled_s or time.monotonic()
            with suppress(ProcessLookupError):
                host.process.send_signal(signal.SIGTERM)

    def _pass_on_lines(self, wait_s: float) -> None:
        with suppress(queue.Empty):
            self.on_line(*self.lines.get(timeout=wait_s))
            while True:
                self.on_line(*self.lines.get_nowait())

    def _drain(self) -> None:
        for host in self.running:
            host.reader.join(_DRAIN_S)
        with suppress(queue.Empty):
            while True:
                self.on_line(*self.lines.get_nowait())
