"""Runs the hosts of one job side by side: a process tree each, logs as they come, all ended.

A host here is what a container is on SageMaker: its first process gets the signals, and when that
process ends the others of its tree are killed.
"""

import errno
import queue
import random
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from evenshard.simulator.processes import kill_group, kill_marked, start
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
    """It was told to stop, because of another host or of the time limit."""


@dataclass(slots=True, kw_only=True)
class _Running:
    command: HostCommand
    process: subprocess.Popen[str]
    reader: threading.Thread
    stopped: bool = False
    ended: bool = False


class JobTimeoutError(Exception):
    """The hosts ran longer than the job's MaxRuntimeInSeconds."""


def run_hosts(
    commands: Sequence[HostCommand], on_line: OnLine, *, limit_s: float
) -> list[HostExit]:
    """Run all hosts to their end. When one fails, the others are stopped, as the job is over.

    Args:
        commands: one per host.
        on_line: gets every line of output, in this thread.
        limit_s: the job's MaxRuntimeInSeconds.

    Raises:
        JobTimeoutError: the limit passed. No process is left.
        KeyboardInterrupt: passed on. No process is left.
    """
    hosts = _Hosts(commands, on_line)
    try:
        for command in commands:
            hosts.start(command)
        hosts.wait(limit_s)
    except BaseException as error:
        is_interrupt = isinstance(error, KeyboardInterrupt)
        hosts.stop(INTERRUPT_GRACE_S if is_interrupt else STOP_GRACE_S)
        raise
    finally:
        hosts.kill()
    return hosts.exits()


@dataclass(slots=True)
class _Hosts:
    commands: Sequence[HostCommand]
    on_line: OnLine
    running: list[_Running] = field(default_factory=list)
    lines: "queue.SimpleQueue[tuple[str, str]]" = field(default_factory=queue.SimpleQueue)

    def start(self, command: HostCommand) -> None:
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

    def wait(self, limit_s: float) -> None:
        deadline = time.monotonic() + limit_s
        peers_deadline: float | None = None
        while alive := self._alive():
            self._pass_on_lines(_POLL_S)
            now = time.monotonic()
            if now > deadline:
                raise JobTimeoutError
            failed = any(host.process.returncode for host in self.running if host.ended)
            if failed and peers_deadline is None:
                peers_deadline = now + _PEERS_GRACE_S
            if peers_deadline is not None and now > peers_deadline and not alive[0].stopped:
                self._signal(alive)
                deadline = min(deadline, now + STOP_GRACE_S)
        self._drain()

    def stop(self, grace_s: float) -> None:
        """Tell every host to stop, as SageMaker does, and give it time to save its state."""
        self._signal(self._alive())
        deadline = time.monotonic() + grace_s
        while self._alive() and time.monotonic() < deadline:
            self._pass_on_lines(_POLL_S)

    def kill(self) -> None:
        """End every process of every host, whatever state it is in."""
        for host in self.running:
            kill_group(host.process)
        # By command: an interrupt may have come between the start of a host and its listing.
        for command in self.commands:
            kill_marked(command.marker)
        for host in self.running:
            host.reader.join(_DRAIN_S)

    def exits(self) -> list[HostExit]:
        return [
            HostExit(
                host=host.command.host,
                return_code=host.process.returncode,
                stopped=host.stopped,
            )
            for host in self.running
        ]

    def _alive(self) -> list[_Running]:
        for host in self.running:
            if not host.ended and host.process.poll() is not None:
                host.ended = True
                kill_marked(host.command.marker)
        return [host for host in self.running if not host.ended]

    def _signal(self, hosts: Sequence[_Running]) -> None:
        for host in hosts:
            host.stopped = True
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


def free_ports(count: int) -> list[int]:
    """Different ports that nobody on this machine listens at.

    Taken below the range that systems hand out for outgoing connections: between this call and the
    host's own `listen`, no connection can be given such a port.

    Raises:
        OSError: there are not as many.
    """
    found: list[int] = []
    for port in _candidates():
        if len(found) == count:
            break
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(port)
    if len(found) < count:
        raise OSError(errno.EADDRINUSE, f"only {len(found)} of {count} ports are free")
    return found


def _candidates() -> Iterator[int]:
    ports = list(range(15_000, 32_000))
    random.SystemRandom().shuffle(ports)
    return iter(ports)


def loopback_interface() -> str:
    """The loopback's name: gloo fails on a network interface that does not exist."""
    names = [name for _, name in socket.if_nameindex()]
    return next((name for name in names if name.startswith("lo")), "lo")
