import gc
import threading
from collections.abc import Iterator
from itertools import islice

import pytest

from tests.unit.records.own_threads import OwnThreads
from training.records.prefetch import finished_ahead, prefetched


class Source:
    """Counts from 0, says how far it came and whether it was closed, and fails where told to."""

    def __init__(self, stop: int, error: BaseException | None = None) -> None:
        self.made = 0
        self.closed = threading.Event()
        self.changed = threading.Condition()
        self.threads: set[int] = set()
        self._stop = stop
        self._error = error

    def items(self) -> Iterator[int]:
        try:
            for number in range(self._stop):
                self.threads.add(threading.get_ident())
                with self.changed:
                    self.made += 1
                    self.changed.notify_all()
                yield number
            if self._error is not None:
                raise self._error
        finally:
            self.closed.set()

    def wait_until_made(self, made: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: self.made >= made, timeout=60)


def test_gives_all_items_in_order_from_one_other_thread() -> None:
    source = Source(100)
    own = OwnThreads()
    assert list(prefetched(source.items(), ahead=3)) == list(range(100))
    assert len(source.threads) == 1
    assert threading.get_ident() not in source.threads
    assert source.closed.is_set()
    assert own.count() == 0


def test_an_empty_source_ends_at_once() -> None:
    assert list(prefetched(iter(()), ahead=1)) == []


@pytest.mark.parametrize("ahead", [1, 2, 5])
def test_makes_no_more_items_than_it_may(ahead: int) -> None:
    source = Source(100)
    items = prefetched(source.items(), ahead=ahead)
    for asked in range(1, 10):
        next(items)
        source.wait_until_made(asked + ahead)
        assert source.made == asked + ahead
    del items


@pytest.mark.parametrize("ahead", [1, 3])
def test_takes_one_more_item_than_it_finishes(ahead: int) -> None:
    source, finished = Source(100), Source(100)
    numbers = finished.items()
    items = finished_ahead(source.items(), lambda item: (item, next(numbers)), ahead=ahead)
    for asked in range(1, 10):
        assert next(items) == (asked - 1, asked - 1)
        source.wait_until_made(asked + ahead + 1)
        finished.wait_until_made(asked + ahead)
        assert (source.made, finished.made) == (asked + ahead + 1, asked + ahead)
    assert [item for item, _ in items] == list(range(9, 100))
    assert source.closed.is_set()


def test_an_error_while_finishing_comes_in_its_items_place() -> None:
    def finish(item: int) -> int:
        if item == 2:
            raise ValueError(item)
        return -item

    source = Source(9)
    items = finished_ahead(source.items(), finish, ahead=1)
    assert list(islice(items, 2)) == [0, -1]
    with pytest.raises(ValueError, match="2"):
        next(items)
    assert source.closed.is_set()


@pytest.mark.parametrize("error", [ValueError("bad"), OSError(5, "disk"), KeyboardInterrupt()])
def test_raises_the_sources_error_after_the_items_before_it(error: BaseException) -> None:
    source = Source(3, error)
    items = prefetched(source.items(), ahead=2)
    assert list(islice(items, 3)) == [0, 1, 2]
    with pytest.raises(type(error)) as caught:
        next(iter(items))
    assert caught.value is error
    assert list(items) == []


@pytest.mark.parametrize("taken", [1, 3])
@pytest.mark.parametrize("how", ["close", "drop"])
def test_stops_and_closes_the_source_when_nobody_wants_more(taken: int, how: str) -> None:
    source = Source(10**9)
    own = OwnThreads()
    items = prefetched(source.items(), ahead=2)
    assert list(islice(items, taken)) == list(range(taken))
    if how == "close":
        items.close()  # type: ignore[attr-defined] # a generator
    del items
    gc.collect()
    assert source.closed.is_set()
    assert own.count() == 0


def test_no_thread_before_the_first_item_is_asked_for() -> None:
    own = OwnThreads()
    items = prefetched(iter([1]), ahead=1)
    assert own.count() == 0
    del items


def test_one_may_feed_another() -> None:
    source = Source(10**9)
    own = OwnThreads()
    doubled = prefetched((2 * n for n in prefetched(source.items(), ahead=1)), ahead=2)
    assert list(islice(doubled, 50)) == list(range(0, 100, 2))
    assert own.count() == 2
    del doubled
    assert own.count() == 0
    assert source.closed.is_set()
