"""Needs a launcher that does what PID 1 must: leaves orphans behind, and reports what it sees."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

LIMIT_S = 30
# The shell ends at once and leaves its child to the launcher.
ORPHAN = "import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep({})"


def leave_orphan(sleep_s: float) -> int:
    """Start a process whose parent is gone and that no SIGTERM ends; returns its id."""
    starter = subprocess.run(
        [
            "/bin/sh",
            "-c",
            '"$0" -c "$1" >/dev/null 2>&1 & echo $!',
            sys.executable,
            ORPHAN.format(sleep_s),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    return int(starter.stdout)


def wait_until_reaped(process_id: int) -> bool:
    """Wait until a process is gone, not even a zombie."""
    deadline_s = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline_s:
        try:
            os.kill(process_id, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


report = {
    "short_orphan_reaped": wait_until_reaped(leave_orphan(0)),
    "long_orphan": leave_orphan(600),
    "environment": dict(os.environ),
    "arguments": sys.argv[1:],
    "sigint_default": signal.getsignal(signal.SIGINT) is signal.default_int_handler,
}
(Path(os.environ["SM_MODEL_DIR"]) / "report.json").write_text(json.dumps(report))
