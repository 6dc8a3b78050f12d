"""Work ahead in a background thread: numpy, pyarrow and files let other threads run meanwhile."""

from collections.abc import Callable, Iterator
from queue import SimpleQueue
from threading import Event, Semaphore, Thread
from typing import Any, Generic, TypeVar

T = TypeVar("T")
U = TypeVar("U")


class _End:
    """The last thing in a queue: the source has ended, or failed."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


class _Work(Generic[T]):
    """What the thread and its consumer share; the consumer's generator is not among it.

    So an iterator that is dropped is closed, which stops the thread.
    """

    def __init__(
        self, source: Iterator[Any], ahead: int, finish: Callable[[Any], T] | None = None
    ) -> None:
        self.source = source
        self.finish = finish
        self.ready: SimpleQueue[T | _End] = SimpleQueue()
        self.permits = Semaphore(ahead)
        self.stopped = Event()

    def run(self) -> None:
        """Fill the queue until the source ends or nobody wants more; runs in the thread."""
        end = _End()
        try:
            self._make_all()
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

    def _make_all(self) -> None:
        """Make what is wanted.

        Raises:
            BaseException: What the source raised, StopIteration at its end.
        """
        if self.finish is None:
            # Before the next item is made, not after: `ahead` bounds what lies in memory.
            while self._is_wanted():
                self.ready.put(next(self.source))
            return
        while True:
            item = next(self.source)
            if not self._is_wanted():
                return
            self.ready.put(self.finish(item))
            # Otherwise held until there is another one.
            del item

    def _is_wanted(self) -> bool:
        """Wait until one more item may be made, or none any more."""
        self.permits.acquire()
        return not self.stopped.is_set()


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
    return _consume(_Work(source, ahead))


def finished_ahead(source: Iterator[T], finish: Callable[[T], U], *, ahead: int) -> Iterator[U]:
    """Iterate over `source`, with something made of each item, as `prefetched` does.

    One more item is taken from the source ahead and finished only when it is wanted: for items that
    take more memory then.

    Args:
        source: Used by the thread alone from now on.
        finish: Called in the thread.
        ahead: Items finished but not yet asked for, 1 or more; the one in use is not counted.

    Raises:
        BaseException: What the source or `finish` raised.
    """
    return _consume(_Work(source, ahead, finish))


def _consume(work: _Work[T]) -> Iterator[T]:
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
