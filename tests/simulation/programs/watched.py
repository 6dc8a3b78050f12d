"""Runs the program that `watched` names, as it is, and writes down the records of its steps."""

import atexit
import json
import os
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import training.records
from tests.simulation.programs.gloo_threads import (
    write_gloo_threads,
    write_gloo_threads_left,
)
from training.records import RecordLoader, Step, steps_of_epoch

FILE = Path(os.environ["SM_OUTPUT_DATA_DIR"]) / f"steps-of-process-{os.getpid()}.jsonl"


def readable(record: object) -> object:
    return record.decode() if isinstance(record, bytes) else record


def watched_steps(loader: RecordLoader, *, epoch: int, **more: Any) -> Iterator[Step]:  # noqa: ANN401 - handed on
    for step in steps_of_epoch(loader, epoch=epoch, **more):
        records = [] if step.batch is None else [readable(record) for record in step.batch.data]
        with FILE.open("a") as file:
            line = {"epoch": epoch, "records": records, "records_of_all": step.records}
            file.write(json.dumps(line) + "\n")
        yield step
    write_gloo_threads("working")


# The first to be registered is the last to be called.
atexit.register(write_gloo_threads_left)
position = sys.argv.index("--watched")
program = sys.argv[position + 1]
del sys.argv[position : position + 2]
with mock.patch.object(training.records, "steps_of_epoch", watched_steps):
    runpy.run_path(program, run_name="__main__")
