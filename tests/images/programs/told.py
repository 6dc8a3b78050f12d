"""Writes down what it runs in, waits for SIGTERM, writes that down and ends well."""

import json
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType

OUTPUT = Path(os.environ["SM_OUTPUT_DATA_DIR"])


def end(number: int, _frame: FrameType | None) -> None:
    (OUTPUT / "told.json").write_text(json.dumps(signal.Signals(number).name))
    sys.exit(0)


signal.signal(signal.SIGTERM, end)
first = Path("/proc/1/cmdline").read_bytes().decode().rstrip("\0").split("\0")
parents = [os.getppid()]
while parents[-1] > 1:
    status = Path(f"/proc/{parents[-1]}/status").read_text()
    parents.append(int(status.partition("PPid:")[2].split()[0]))
report = OUTPUT / "started.json"
report.with_suffix(".part").write_text(
    json.dumps(
        {
            "process_1": first,
            "parents": parents,
            "environment": dict(os.environ),
            "directory": str(Path.cwd()),
            "arguments": sys.argv[1:],
        }
    )
)
report.with_suffix(".part").rename(report)
time.sleep(600)
