"""What is measured by iterating over one contender's batches."""

import importlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.records.contenders import BY_NAME
from benchmarks.records.jobs import Job

DEVICE_STEP_S: Final = 0.002
WARM_UP_STEPS: Final = 20
"""Steps whose wait is not counted: the loader has just been started."""


FEWEST_BATCHES: Final = 8
FEWEST_STEPS: Final = 400
"""Fewer would not tell a 99th percentile."""


def rate(job: Job) -> dict[str, Any]:
    """Measure an epoch, from making the loader to the last batch.

    An epoch that outlasts `cap_s` is extrapolated: the time to the first batch, which is paid once,
    and the rest at the rate reached.

    Returns:
        `records_per_second` of the whole epoch, `first_batch_s`, `complete`, and
        `cpu_us_per_record`: processor time of this process and its threads, in microseconds.
    """
    contender = BY_NAME[job.contender]
    opener, counted = contender.opener(), contender.counter()
    started, started_cpu_s = time.perf_counter(), time.process_time()
    first_s = 0.0
    first_records = records = 0
    for batch in opener(Path(job.folder), job.batch_size, job.workers):
        records += counted(batch)
        now_s = time.perf_counter() - started
        if not first_s:
            first_s, first_records = now_s, records
        # Counted from the first batch: what comes after it is what is extrapolated.
        if now_s - first_s > job.cap_s and records > first_records:
            break
    elapsed_s = time.perf_counter() - started
    cpu_s = time.process_time() - started_cpu_s
    complete = records >= job.records
    if not complete:
        steady = (records - first_records) / max(elapsed_s - first_s, 1e-9)
        elapsed_s = first_s + (job.records - first_records) / max(steady, 1e-9)
    if complete and records != job.records:
        raise AssertionError(f"{contender.name}: {records} records instead of {job.records}")
    return {
        "records_per_second": job.records / elapsed_s,
        "first_batch_s": first_s,
        "complete": complete,
        "cpu_us_per_record": cpu_s / records * 1e6,
    }


def first(job: Job) -> dict[str, Any]:
    """Measure the time from making the loader to its first batch: `first_batch_s`."""
    opener = BY_NAME[job.contender].opener()
    started = time.perf_counter()
    next(iter(opener(Path(job.folder), job.batch_size, job.workers)))
    return {"first_batch_s": time.perf_counter() - started}


def wait(job: Job) -> dict[str, Any]:
    """Measure how long each step waits for its batch while a device works for 2 ms a step.

    Returns:
        Percentiles of the wait in milliseconds, `p50_ms` and `p99_ms`, and `steps`.
    """
    waits_s: list[float] = []
    started = time.perf_counter()
    for waited_s in _waits(job):
        waits_s.append(waited_s)
        if time.perf_counter() - started > job.cap_s and len(waits_s) > FEWEST_STEPS:
            break
    p50, p99 = np.percentile(np.array(waits_s[WARM_UP_STEPS:]) * 1000, (50, 99))
    return {"p50_ms": float(p50), "p99_ms": float(p99), "steps": len(waits_s) - WARM_UP_STEPS}


def spread(job: Job) -> dict[str, Any]:
    """Measure how far apart in the data the records of a batch are.

    Returns:
        `spread`: the deviation of the records' numbers within a batch (root of the mean variance)
        against that of numbers drawn uniformly from the whole; 1 is a perfect shuffle.
    """
    contender = BY_NAME[job.contender]
    opener, numbers_of = contender.opener(), contender.numberer()
    variances = []
    started = time.perf_counter()
    for batch in opener(Path(job.folder), job.batch_size, job.workers):
        numbers = numbers_of(batch)
        if len(numbers) == job.batch_size:
            variances.append(float(np.var(numbers, ddof=1)))
        if time.perf_counter() - started > job.cap_s and len(variances) >= FEWEST_BATCHES:
            break
    uniform = (job.records**2 - 1) / 12
    return {"spread": (float(np.mean(variances)) / uniform) ** 0.5, "batches": len(variances)}


def count(job: Job) -> dict[str, Any]:
    """Measure what counting the records costs when a loader is made.

    Returns:
        `seconds_per_gb`.
    """
    # Found here, since the processes that measure peers are to do without our imports.
    make_loader = importlib.import_module("benchmarks.records.ours").make_loader
    size_bytes = sum(path.stat().st_size for path in Path(job.folder).iterdir())
    started = time.perf_counter()
    loader = make_loader(Path(job.folder), job.batch_size, "packed", count=True)
    elapsed_s = time.perf_counter() - started
    if loader.counts != (job.records,):
        raise AssertionError(f"{loader.counts} records counted instead of {job.records}")
    return {"seconds_per_gb": elapsed_s / size_bytes * 1e9}


def _waits(job: Job) -> Iterator[float]:
    batches = iter(BY_NAME[job.contender].opener()(Path(job.folder), job.batch_size, job.workers))
    while True:
        started = time.perf_counter()
        if next(batches, None) is None:
            return
        yield time.perf_counter() - started
        # Asleep, as a process is that waits for its device.
        time.sleep(DEVICE_STEP_S)
