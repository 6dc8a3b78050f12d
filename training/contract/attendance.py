"""How far each rank of a host has come, for its launcher: who waits, and who keeps others waiting.

A rank that stalls says nothing, and those that wait for it cannot tell which one it is; some
collectives wait for ever. So every rank counts in a file of its own the places of the program that
it has come to, which are the same on all ranks: where they meet, and where each works for itself.
The rank that is behind all others is the one they wait for.
"""

import mmap
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple

from training.contract.layout import ATTENDANCE_VARIABLE

_BYTES: Final = 8


class Mark(NamedTuple):
    """Where a rank is."""

    place: int
    """Places that it has come to since its start, in the order of the program."""
    is_waiting: bool
    """Whether it meets the others there, so that it goes on only if they all come."""


_NO_MEETING: Final = nullcontext()
NOWHERE: Final = Mark(place=0, is_waiting=False)
"""Of a rank that has not begun."""


class _Marks:
    """The marks of one rank. Entered where it meets the others, left when they have met.

    One object for all of them: the places come several times in every step.
    """

    def __init__(self, file: Path) -> None:
        """Begin to mark in a file, in a folder that exists."""
        self._place = 0
        file.write_bytes(bytes(_BYTES))
        with file.open("r+b") as opened:
            self._memory = mmap.mmap(opened.fileno(), _BYTES)

    def __enter__(self) -> None:
        self._mark(is_waiting=True)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None:  # else it has come no further
            self._mark(is_waiting=False)

    def _mark(self, *, is_waiting: bool) -> None:
        self._place += 1
        # One word, written at once: whoever reads it sees the old one or the new one.
        self._memory[:] = (2 * self._place + is_waiting).to_bytes(_BYTES, "little")


class Attendance:
    """The marks of this rank. Without a launcher nobody reads them, and none are made."""

    def __init__(self, file: Path | None) -> None:
        """Begin to mark.

        Args:
            file: in a folder that exists; None: mark nothing.
        """
        self._marks = None if file is None else _Marks(file)
        self._meeting: AbstractContextManager[None] = self._marks or _NO_MEETING

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
        return self._marks is not None

    def waiting(self, *, when: bool = True) -> AbstractContextManager[None]:
        """Meet the other ranks inside, if `when` says so; all ranks come here, equally often."""
        return self._meeting if when else _NO_MEETING


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
