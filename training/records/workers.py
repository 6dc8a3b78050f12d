"""A function over batches in other processes: for what takes long and holds the interpreter."""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from training.records.batch import Batch

BATCHES_PER_WORKER = 2
"""Batches under way for each process: one that it works on, one that waits for it."""


def mapped(batches: Iterator[Batch], map_fn: Callable[[Any], Any], workers: int) -> Iterator[Batch]:
    """Apply a function to the data of each batch, in `workers` processes; the order stays.

    Args:
        batches: Read ahead of what is handed out here.
        map_fn: Of a batch's data; importable by name, as are its arguments and results picklable.
        workers: Processes; 0: none but this one.

    Returns:
        The batches, with what the function returned as their data.

    Raises:
        BrokenProcessPool: A process ended, for instance for want of memory.
        Exception: Whatever the function raises, in place of its batch.
    """
    if workers == 0:
        for batch in batches:
            yield batch.with_data(map_fn(batch.data))
        return
    # Not forked: a copy of a process with threads may hold their locks for ever.
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
    try:
        under_way: deque[tuple[Batch, Future[Any]]] = deque()
        for batch in batches:
            under_way.append((batch, pool.submit(map_fn, batch.data)))
            if len(under_way) > BATCHES_PER_WORKER * workers:
                done, future = under_way.popleft()
                yield done.with_data(future.result())
        for done, future in under_way:
            yield done.with_data(future.result())
    finally:
        pool.shutdown(cancel_futures=True)
