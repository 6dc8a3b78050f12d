"""The two ways in which a command ends badly, and their exit codes."""

import enum


class ExitCode(enum.IntEnum):
    """What the `evenshard` command returns to the shell."""

    DONE = 0
    FAILED = 1
    """Data was refused, or a run failed."""
    USAGE = 2
    """The command line is wrong."""
    INTERRUPTED = 130
    """Ctrl-C, as shells count it: 128 + SIGINT."""


class UsageError(Exception):
    """The command line is wrong: what was given, what is allowed, what to do."""


class RefusedError(Exception):
    """The data is refused: what was given, what is allowed, what to do."""
