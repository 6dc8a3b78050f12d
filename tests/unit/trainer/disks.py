"""A disk that is full, for this process."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager

_MOST_BYTES = 8192


@contextmanager
def full_disk() -> Iterator[None]:
    """Let no file grow beyond 8 KiB: "File too large" where a full disk says "No space left"."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (_MOST_BYTES, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
