"""Writes down which of gloo's threads there are, for the test that started the process."""

import json
import os
import time
from contextlib import suppress
from pathlib import Path

FOLDER = Path(os.environ["SM_OUTPUT_DATA_DIR"])
LIMIT_S = 30
"""Until a thread that has ended is gone: Linux lists it a moment longer than it can be waited for.
"""


def write_gloo_threads(moment: str) -> None:
    """Write the names that Linux gives this process's threads, as far as they are gloo's."""
    (FOLDER / f"threads-of-process-{os.getpid()}-{moment}.json").write_text(
        json.dumps(_gloo_threads())
    )


def write_gloo_threads_left() -> None:
    """Write those that do not go."""
    deadline_s = time.monotonic() + LIMIT_S
    while _gloo_threads() and time.monotonic() < deadline_s:
        time.sleep(0.01)
    write_gloo_threads("left")


def _gloo_threads() -> list[str]:
    names = []
    for file in Path("/proc/self/task").glob("*/comm"):
        # Others may end while we look.
        with suppress(FileNotFoundError, ProcessLookupError):
            names.append(file.read_text().strip())
    return sorted(name for name in names if "gloo" in name)
