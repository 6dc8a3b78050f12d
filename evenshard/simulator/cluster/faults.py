"""Faults that a simulation makes happen, as --fault names them: `sigterm:algo-2@step=30`."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from evenshard.errors import UsageError
from training.contract.breakpoints import POINTS, START


class FaultKind(StrEnum):
    """What happens."""

    SIGTERM = "sigterm"
    """The first process of a host gets SIGTERM, and SIGKILL when the grace has passed."""
    SIGKILL = "sigkill"
    """A rank's process is killed; or a whole host is, with all that it has not uploaded."""
    STALL = "stall"
    """A rank, or all ranks of a host, go no further and do not end either."""
    SLOW = "slow"
    """Every step of a rank, or of all ranks of a host, takes so many times its own time."""
    SPOT = "spot"
    """A host's spot instance is reclaimed: the whole job stops, and starts again."""
    DISK_FULL = "disk-full"
    """A host's files cannot grow any more."""
    CORRUPT = "corrupt"
    """An object arrives damaged on whichever host gets it."""


OF_RANKS: Final = (FaultKind.SIGKILL, FaultKind.STALL, FaultKind.SLOW)
"""Kinds that may name one rank of a host."""
_EXAMPLES: Final = (
    "sigterm:algo-2@step=30, sigkill:algo-1/1@step=20, stall:algo-2@saving, slow:algo-2x3, "
    "spot:algo-1@step=40, disk-full:algo-1@evaluation or corrupt:train/part-00003.jsonl"
)
_PLACE: Final = re.compile(
    r"(?P<host>algo-[1-9][0-9]*)(/(?P<local_rank>0|[1-9][0-9]*))?"
    r"(x(?P<factor>[0-9]+(\.[0-9]+)?))?"
    r"(@(?P<point>[a-z]+)(=(?P<number>0|[1-9][0-9]*))?)?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault."""

    text: str
    """As it was given."""
    kind: FaultKind
    host: str = ""
    """`algo-N`; empty for a corrupt object."""
    local_rank: int | None = None
    """One rank of the host, from 0; None: the host, all its ranks."""
    point: str = START
    """When it happens: one of the breakpoints' POINTS."""
    number: int | None = None
    """Which of them; None: the first that comes."""
    factor: float = 1.0
    """How many times slower."""
    key: str = ""
    """Of a corrupt object: a key of the --data folder, or an s3:// URI."""


def parse_fault(text: str) -> Fault:
    """Read one --fault.

    Raises:
        UsageError: it is none, with the reason and all that is allowed.
    """
    kind_text, _, rest = text.partition(":")
    if kind_text not in tuple(FaultKind):
        raise _refusal(text, f"there is no kind {kind_text!r}")
    kind = FaultKind(kind_text)
    if kind is FaultKind.CORRUPT:
        if not rest:
            raise _refusal(text, "it names no object")
        return Fault(text=text, kind=kind, key=rest)
    place = _PLACE.fullmatch(rest)
    if place is None:
        raise _refusal(text, f"{rest!r} is no host, rank and moment")
    fault = Fault(
        text=text,
        kind=kind,
        host=place["host"],
        local_rank=None if place["local_rank"] is None else int(place["local_rank"]),
        point=place["point"] or START,
        number=None if place["number"] is None else int(place["number"]),
        factor=float(place["factor"] or 1),
    )
    _check(fault, has_moment=place["point"] is not None)
    return fault


def check_targets(faults: Sequence[Fault], *, hosts: int, devices_per_host: int) -> None:
    """Refuse faults of hosts and ranks that the job does not have.

    Raises:
        UsageError: names the fault and what there is.
    """
    for fault in faults:
        if fault.host and int(fault.host.removeprefix("algo-")) > hosts:
            raise _refusal(fault.text, f"there are only {hosts} hosts, algo-1 to algo-{hosts}")
        if fault.local_rank is not None and fault.local_rank >= devices_per_host:
            raise _refusal(
                fault.text,
                f"{fault.host} has only ranks 0 to {devices_per_host - 1} of its own "
                f"(--devices-per-host {devices_per_host})",
            )


def _check(fault: Fault, *, has_moment: bool) -> None:
    if fault.point not in POINTS:
        raise _refusal(fault.text, f"{fault.point!r} is no moment; {', '.join(POINTS)} are")
    if fault.number is not None and fault.point == START:
        raise _refusal(fault.text, "a rank starts once, so start takes no number")
    if fault.local_rank is not None and fault.kind not in OF_RANKS:
        raise _refusal(fault.text, f"{fault.kind} happens to hosts: leave out /{fault.local_rank}")
    if fault.kind is FaultKind.SLOW:
        if has_moment:
            raise _refusal(fault.text, "a slow host is slow from its start: leave out the moment")
        if fault.factor <= 1 or not math.isfinite(fault.factor):
            raise _refusal(fault.text, "say how many times slower, above 1")
    elif fault.factor != 1:
        raise _refusal(fault.text, f"{fault.kind} takes no factor")


def _refusal(text: str, reason: str) -> UsageError:
    return UsageError(
        f"--fault {text}: {reason}. It is KIND:HOST[/RANK][@MOMENT[=N]], for example {_EXAMPLES}."
    )
