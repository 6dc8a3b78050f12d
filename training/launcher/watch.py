"""Who keeps the others waiting: a rank that goes no further is named, and the job is ended.

Every launcher reads what its ranks mark (`training.contract.attendance`). Where one has waited too
long, the hosts tell each other how far each of their ranks has come: the one that is behind all
others has stalled. All launchers come to the same end, since all hear the same.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from training.contract.attendance import NOWHERE, read_mark

_ANSWER_S: Final = 5.0
"""How long a launcher may take to say how far its ranks have come."""


class OtherHosts(Protocol):
    """What the watch needs of the hosts of a job."""

    @property
    def heard(self) -> Sequence[str]:
        """The hosts that can hear each other, this one among them."""
        ...

    @property
    def has_gaps(self) -> bool:
        """Whether ranks are known to be gone: it is those that the others wait for."""
        ...

    def tell_places(self, places: str) -> None:
        """Tell all how far the ranks of this host have come."""
        ...

    def told_places(self) -> Mapping[str, str]:
        """What hosts have told of theirs: host -> text."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall:
    """Why the ranks wait in vain."""

    host: str
    """Whose failure it is."""
    why: str


class Watch:
    """The ranks of one host."""

    def __init__(
        self,
        folder: Path,
        ranks: range,
        hosts: OtherHosts,
        wait_s: float,
        *,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin to watch.

        Args:
            folder: in which the ranks leave their marks.
            ranks: of this host, the global ones.
            hosts: of the job.
            wait_s: how long a rank may wait for the others.
            clock_s: seconds of some clock.
        """
        self._folder = folder
        self._ranks = ranks
        self._hosts = hosts
        self._wait_s = wait_s
        self._clock_s = clock_s
        self._seen = [(NOWHERE, clock_s())] * len(ranks)
        self._told_s: float | None = None
        self.stall: Stall | None = None
        """What was found."""

    def has_stall(self) -> bool:
        """Look at the ranks; whether some wait in vain. To be asked often."""
        if self.stall is None and not self._hosts.has_gaps:
            self._look()
        return self.stall is not None

    def _look(self) -> None:
        now_s = self._clock_s()
        marks = [read_mark(self._folder, rank) or NOWHERE for rank in self._ranks]
        self._seen = [
            before if mark == before[0] else (mark, now_s)
            for mark, before in zip(marks, self._seen, strict=True)
        ]
        told = self._hosts.told_places()
        waited = any(
            mark.is_waiting and now_s - since_s >= self._wait_s for mark, since_s in self._seen
        )
        if self._told_s is None and (waited or told):
            self._hosts.tell_places(json.dumps([mark.place for mark in marks]))
            self._told_s = now_s
        if self._told_s is not None:
            told = self._hosts.told_places()
            if told.keys() >= set(self._hosts.heard) or now_s - self._told_s >= _ANSWER_S:
                places = {host: json.loads(text) for host, text in told.items()}
                self.stall = find_stall(places, self._hosts.heard, self._ranks, self._wait_s)


def find_stall(
    places: Mapping[str, Sequence[int]], hosts: Sequence[str], own_ranks: range, wait_s: float
) -> Stall:
    """Find who is behind.

    Args:
        places: host -> the places that each of its ranks has come to.
        hosts: those that should have told theirs: all of the job in the order of their ranks, or
            this one where it hears no other.
        own_ranks: of this host, the global ones; all hosts have as many.
        wait_s: how long the others have waited.
    """
    waited_s = f"{wait_s:g} s (collective_timeout_s)"
    silent = [host for host in hosts if host not in places]
    if silent:
        why = (
            f"{silent[0]} stalled: the other hosts waited for its ranks for {waited_s}, and its "
            "launcher did not answer. See what its log says last."
        )
        return Stall(host=silent[0], why=why)
    first_rank = own_ranks.start if len(hosts) == 1 else 0
    of_ranks = [
        (place, host, rank)
        for number, host in enumerate(hosts)
        for rank, place in enumerate(places[host], first_rank + number * len(own_ranks))
    ]
    last = min(place for place, _, _ in of_ranks)
    if last == max(place for place, _, _ in of_ranks):
        why = f"{hosts[0]}: its ranks waited for others in vain for {waited_s}."
        return Stall(host=hosts[0], why=why)
    host, rank = next((host, rank) for place, host, rank in of_ranks if place == last)
    why = (
        f"{host}, rank {rank} stalled: the other ranks waited for it for {waited_s}. See what its "
        "log says last; if it was only slow, set that higher."
    )
    return Stall(host=host, why=why)
