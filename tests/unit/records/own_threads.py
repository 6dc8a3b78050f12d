"""The threads that a test starts, whatever those of others do meanwhile."""

import threading


class OwnThreads:
    """Threads that were not there when this was made.

    Their number alone would tell nothing: servers of earlier tests leave threads, which end when
    they like.
    """

    def __init__(self) -> None:
        self._before = set(threading.enumerate())

    def count(self) -> int:
        """How many there are now."""
        return len(set(threading.enumerate()) - self._before)
