"""A measuring process: `python -m benchmarks.records.child '{"measure": "rate", ...}'`.

Prints its results as one JSON object. Imports are over before a clock starts.
"""

import importlib
import json
import os
import sys
from typing import Final

from benchmarks.records.jobs import Job, memory_mib

MEASURES: Final = {
    "rate": "iteration:rate",
    "memory": "iteration:rate",
    "first": "iteration:first",
    "wait": "iteration:wait",
    "spread": "iteration:spread",
    "count": "iteration:count",
    "convert": "preparing:convert",
    "gradients": "gradients:compare",
    "loop": "training_loop:compare",
}


def main() -> None:
    """Measure what the argument says."""
    job = Job(**json.loads(sys.argv[1]))
    module, _, name = MEASURES[job.measure].partition(":")
    result = getattr(importlib.import_module(f"benchmarks.records.{module}"), name)(job)
    print(json.dumps({**result, "own_peak_mib": memory_mib(os.getpid(), "VmHWM")}), flush=True)
    # Worker processes and threads of an unfinished epoch need not be waited for.
    os._exit(0)


if __name__ == "__main__":
    main()
