"""Work ahead in a background thread: numpy, pyarrow and files let other threads run meanwhile."""

from collections.abc import Callable, Iterator
from queue import SimpleQueue
from threading import Event, Semaphore, Thread
from typing import Generic, TypeVar

T = TypeVar("T")


class _End:
    """The last thing in a queue: the source has ended, or failed."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


class _Work(Generic[T]):
    """What the thread and its consumer share; the consumer's generator is not among it.

    So an iterator that is dropped is closed, which stops the thread.
    """

    def __init__(self, source: Iterator[T], ahead: int) -> None:
        self.source = source
        self.ready: SimpleQueue[T | _End] = SimpleQueue()
        self.permits = Semaphore(ahead)
        self.stopped = Event()

    def run(self) -> None:
        """Fill the queue until the source ends or nobody wants more; runs in the thread."""
        end = _End()
        try:
            while True:
                # Before the next item is made, not after: `ahead` bounds what lies in memory.
                self.permits.acquire()
                if self.stopped.is_set():
                    break
                self.ready.put(next(self.source))
        except StopIteration:
            pass
        except BaseException as error:  # noqa: BLE001 - raised again by the consumer
            end = _End(error)
        finally:
            try:
                close: Callable[[], None] | None = getattr(self.source, "close", None)
                if close is not None:
                    close()
            finally:
                # Whatever happens: the consumer waits for it.
                self.ready.put(end)


def prefetched(source: Iterator[T], *, ahead: int) -> Iterator[T]:
    """Iterate over `source` in a background thread.

    The thread starts with the first item asked for, and ends with the source, with its error, which
    is raised here, or when this iterator is closed or dropped. The source is closed by the thread.

    Args:
        source: Used by the thread alone from now on.
        ahead: Items made but not yet asked for, 1 or more; the one in use is not counted.

    Raises:
        BaseException: What the source raised.
    """
    work = _Work(source, ahead)
    thread = Thread(target=work.run, name="records", daemon=True)
    thread.start()
    try:
        while True:
            item = work.ready.get()
            if isinstance(item, _End):
                if item.error is not None:
                    raise item.error
                return
            work.permits.release()
            yield item
            del item
    finally:
        work.stopped.set()
        work.permits.release()
        thread.join()
