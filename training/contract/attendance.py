"""How far each rank of a host has come, for its launcher: who waits, and who keeps others waiting.

A rank that stalls says nothing, and those that wait for it cannot tell which one it is; some
collectives wait for ever. So every rank counts in a file of its own the places of the program that
it has come to, which are the same on all ranks: where they meet, and where each works for itself.
The rank that is behind all others is the one they wait for.
"""

import mmap
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from training.contract.layout import ATTENDANCE_VARIABLE

_BYTES: Final = 8


class Mark(NamedTuple):
    """Where a rank is."""

    place: int
    """Places that it has come to since its start, in the order of the program."""
    is_waiting: bool
    """Whether it meets the others there, so that it goes on only if they all come."""


NOWHERE: Final = Mark(place=0, is_waiting=False)
"""Of a rank that has not begun."""


class Attendance:
    """The marks of this rank. Without a launcher nobody reads them, and none are made."""

    def __init__(self, file: Path | None) -> None:
        """Begin to mark.

        Args:
            file: in a folder that exists; None: mark nothing.
        """
        self._place = 0
        self._memory: mmap.mmap | None = None
        if file is not None:
            file.write_bytes(bytes(_BYTES))
            with file.open("r+b") as opened:
                self._memory = mmap.mmap(opened.fileno(), _BYTES)

    @classmethod
    def from_environment(
        cls, *, rank: int, environment: Mapping[str, str] | None = None
    ) -> "Attendance":
        """Mark where the launcher looks.

        Args:
            rank: the global one.
            environment: the variables to read; this process's own when None.
        """
        named = (os.environ if environment is None else environment).get(ATTENDANCE_VARIABLE)
        return cls(_file(Path(named), rank) if named else None)

    @property
    def is_read(self) -> bool:
        """Whether a launcher ends the job when a rank waits too long."""
        return self._memory is not None

    @contextmanager
    def waiting(self, *, when: bool = True) -> Iterator[None]:
        """Meet the other ranks inside, if `when` says so; all ranks come here, equally often."""
        self._mark(is_waiting=when)
        yield
        self._mark(is_waiting=False)

    def _mark(self, *, is_waiting: bool) -> None:
        self._place += 1
        if self._memory is not None:
            # One word, written at once: whoever reads it sees the old one or the new one.
            word = 2 * self._place + is_waiting
            self._memory[:] = word.to_bytes(_BYTES, "little")


def read_mark(folder: Path, rank: int) -> Mark | None:
    """Read where a rank is.

    Args:
        folder: that the variable names.
        rank: the global one.

    Returns:
        None if it has not begun to mark.
    """
    try:
        content = _file(folder, rank).read_bytes()
    except FileNotFoundError:
        return None
    place, is_waiting = divmod(int.from_bytes(content, "little"), 2)
    return Mark(place=place, is_waiting=bool(is_waiting))


def _file(folder: Path, rank: int) -> Path:
    return folder / f"rank-{rank:05}"
