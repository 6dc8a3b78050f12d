"""What the launchers of a job's hosts tell each other: that they are there, and why they ended.

The chief's launcher keeps a board that the others connect to: one JSON object per line, passed on
to all, and from the start to whoever comes later. Ranks of a host whose peers are gone see nothing
but closed connections; the board tells what happened to them.
"""

import json
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from typing import Final

JOINED: Final = "joined"
"""The host's launcher runs; the text is the number of its devices."""
FAILED: Final = "failed"
"""A rank of the host failed by itself; the text says why."""
TOLD: Final = "told"
"""The host was told to stop."""
LEFT: Final = "left"
"""The host was told to stop, and its ranks have ended without having agreed on it with the others.
"""
WAITED: Final = "waited"
"""A rank of the job has waited too long; the text says how far the ranks of this host have come."""
_RETRY_S: Final = 0.5
_POLL_S: Final = 0.05
_CONNECT_LIMIT_S: Final = 5.0
_HANG_UP_LIMIT_S: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """What one host tells all."""

    host: str
    kind: str
    text: str = ""

    def line(self) -> bytes:
        """Encode it for the wire."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> "Notice":
        """Decode what `line` returned.

        Raises:
            ValueError: it is something else.
        """
        content = json.loads(line)
        names = {field.name for field in fields(cls)}
        if not isinstance(content, dict) or content.keys() != names:
            raise ValueError("this is no notice")
        return cls(**content)


class Board:
    """Passes every notice on to every host. The chief keeps it."""

    def __init__(self, address: str, port: int) -> None:
        """Listen.

        Args:
            address: of this host, as the others know it.
            port: 0 takes a free one.

        Raises:
            OSError: nobody may listen there.
        """
        self._listener = socket.create_server((address, port))
        self.port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._connections: list[socket.socket] = []
        self._lines: list[bytes] = []
        self._threads = [threading.Thread(target=self._accept, name="board", daemon=True)]
        self._threads[0].start()

    def close(self) -> None:
        """Hang up, once those who hang up at the same time have done so."""
        # Closing alone would not wake a thread that waits in accept().
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for connection in self._connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_WR)
        _join(self._threads)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.settimeout(None)
            with self._lock:
                self._connections.append(connection)
                for line in self._lines:
                    _send(connection, line)
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        # Whatever knocks at every port of a network says something else: it is hung up on.
        with suppress(OSError, ValueError), connection.makefile("rb") as lines:
            for line in lines:
                Notice.from_line(line)
                with self._lock:
                    self._lines.append(line)
                    for each in self._connections:
                        _send(each, line)
        with self._lock:
            self._connections.remove(connection)
        connection.close()


class Bulletin:
    """One host's view of the board."""

    def __init__(self, host: str, address: str, port: int) -> None:
        """Connect, in the background and for as long as it takes.

        Args:
            host: this host's name.
            address: of the board.
            port: of the board.
        """
        self._host = host
        self._target = (address, port)
        self._notices: list[Notice] = []
        self._unsent: list[bytes] = []
        self._changed = threading.Condition()
        self._connection: socket.socket | None = None
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._receive, name="bulletin", daemon=True)
        self._thread.start()

    def post(self, kind: str, text: str = "") -> None:
        """Tell all hosts something, now or as soon as the board is there."""
        line = Notice(host=self._host, kind=kind, text=text).line()
        with self._changed:
            if self._connection is None:
                self._unsent.append(line)
            else:
                _send(self._connection, line)

    def said(self, kind: str) -> dict[str, str]:
        """What hosts have said of a kind so far: host -> text."""
        with self._changed:
            return {one.host: one.text for one in self._notices if one.kind == kind}

    @property
    def has_ended(self) -> bool:
        """Whether the board was there and has hung up: nobody hears or says anything any more."""
        return not self._thread.is_alive()

    def wait(self, condition: Callable[[], bool], wait_s: float) -> bool:
        """Wait until a condition holds; return whether it does after at most `wait_s` seconds.

        It is asked from time to time, since signals may change it too.
        """
        deadline_s = time.monotonic() + wait_s
        while not condition():
            if time.monotonic() >= deadline_s:
                return False
            time.sleep(_POLL_S)
        return True

    def close(self) -> None:
        """Hang up; what was posted has been sent."""
        self._closed.set()
        with self._changed:
            if self._connection is not None:
                with suppress(OSError):
                    self._connection.shutdown(socket.SHUT_WR)
        _join([self._thread])

    def _receive(self) -> None:
        connection = self._connect()
        if connection is None:
            return
        with self._changed:
            self._connection = connection
            for line in self._unsent:
                _send(connection, line)
        with suppress(OSError, ValueError), connection.makefile("rb") as lines:
            for line in lines:
                notice = Notice.from_line(line)
                with self._changed:
                    self._notices.append(notice)
        connection.close()

    def _connect(self) -> socket.socket | None:
        while not self._closed.is_set():
            try:
                connection = socket.create_connection(self._target, timeout=_CONNECT_LIMIT_S)
            except OSError:
                self._closed.wait(_RETRY_S)
            else:
                connection.settimeout(None)
                if self._closed.is_set():
                    connection.close()
                    break
                return connection
        return None


def _join(threads: Sequence[threading.Thread]) -> None:
    """Wait for threads, a little: what they wait for may never come."""
    for thread in list(threads):
        thread.join(_HANG_UP_LIMIT_S)


def _send(connection: socket.socket, line: bytes) -> None:
    """Send a line; a peer that is gone needs none."""
    with suppress(OSError):
        connection.sendall(line)
