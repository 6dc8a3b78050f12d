"""What the command prints goes through here: a reader that leaves ends no run."""

import os
import sys

import typer


def say(text: str, *, error: bool = False) -> None:
    """Print one line and flush it, so that a pipe sees it at once.

    When nobody reads any more (`evenshard simulate ... | head -3`), this line and all later ones go
    nowhere, and what the command does goes on.

    Args:
        text: without the newline at its end.
        error: to stderr.
    """
    try:
        typer.echo(text, err=error)
    except BrokenPipeError:
        stream = sys.stderr if error else sys.stdout
        nowhere = os.open(os.devnull, os.O_WRONLY)
        # The descriptor itself, for Python flushes what is left in the buffer when it exits.
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
