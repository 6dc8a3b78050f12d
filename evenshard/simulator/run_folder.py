"""The folders of runs: `.evenshard/runs/<execution id>/`."""

import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from evenshard.errors import UsageError

STATE_FOLDER: Final = Path(".evenshard")
RUNS_FOLDER: Final = "runs"
DEFINITION_FILE: Final = "definition.json"
RESULT_FILE: Final = "result.json"
HOSTS_FOLDER: Final = "hosts"
"""In the folder of a step: what each of its hosts saw and wrote."""
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


def new_run(runs: Path) -> tuple[str, Path]:
    """Make the folder of a new run. Its id: 12 letters and digits that sort by time.

    Raises:
        UsageError: it cannot be made.
    """
    try:
        runs.mkdir(parents=True, exist_ok=True)
        while True:
            execution_id = _base36(time.time_ns() // 1000, 10)
            execution_id += _base36(secrets.randbelow(36**2), 2)
            folder = runs / execution_id
            with suppress(FileExistsError):
                folder.mkdir()
                return execution_id, folder
    except OSError as error:
        raise UsageError(
            f"the run's folder cannot be made below {runs}/: {error.strerror}. Run this command in "
            f"a folder that you may write to, and in which {runs.parts[0]} is no file."
        ) from error


def _base36(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, len(_DIGITS))
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits))
