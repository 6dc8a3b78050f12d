"""What the command prints goes through here: no reader and no terminal ends a run."""

import codecs
import json
import os
import sys
from collections.abc import Sequence
from typing import IO, Final

import typer

_ESCAPED: Final = "evenshard.escaped"
_lost: Final[list[OSError]] = []


def say(text: str, *, error: bool = False) -> None:
    """Print one line and flush it, so that a pipe sees it at once.

    When nobody reads any more (`evenshard simulate ... | head -3`) or the disk is full, this line
    and all later ones go nowhere, and what the command does goes on. Characters that the terminal
    has no code for are written as JSON escapes them.

    Args:
        text: without the newline at its end.
        error: to stderr.
    """
    stream = sys.stderr if error else sys.stdout
    try:
        typer.echo(_writable(text, stream), err=error)
    except BrokenPipeError:
        _send_nowhere(stream)
    except OSError as full:
        _send_nowhere(stream)
        _lost.append(full)
        if not error:
            say(f"Error: the output cannot be written: {full.strerror}.", error=True)


def is_all_written() -> bool:
    """Whether nothing was lost that somebody could still have wanted to read."""
    return not _lost


def say_table(rows: Sequence[Sequence[str]]) -> None:
    """Print rows of cells under each other, the first column to the left, numbers to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        first = row[0].ljust(widths[0])
        others = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        say(f"  {'  '.join((first, *others))}")


def _writable(text: str, stream: IO[str] | None) -> str:
    """What of a text can be written, with escapes for the rest."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    if codecs.lookup(encoding).name == "ascii":
        encoding = "utf-8"  # typer writes that where the locale says nothing
    return text.encode(encoding, _ESCAPED).decode(encoding)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """An error handler of codecs: what JSON writes, so that JSON stays what it is."""
    assert isinstance(error, UnicodeEncodeError)  # noqa: S101 - it is registered for encoding
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


codecs.register_error(_ESCAPED, _escaped)


def _send_nowhere(stream: IO[str]) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    # The descriptor itself, for Python flushes what is left in the buffer when it exits.
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
