"""How the simulated hosts of a job reach each other: free ports on the loopback interface."""

import atexit
import errno
import random
import socket
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Final

_PORTS: Final = range(15_000, 32_000)
"""Below what systems hand out for outgoing connections: between `free_ports` and a host's own
`listen`, no connection can be given such a port."""
_BLOCK: Final = 50
"""Ports that one simulator at a time gives out: the process that has the first of them bound."""
_OURS: Final[deque[int]] = deque()
"""Ports of this process' blocks. What was given out the longest time ago comes first."""
_CLAIMS: Final = ExitStack()
"""Has the sockets that are bound; when this process is gone, its blocks are free."""
atexit.register(_CLAIMS.close)


def free_ports(count: int) -> list[int]:
    """Different ports that nobody on this machine listens at, nor another simulator gives out.

    Raises:
        OSError: there are not as many.
    """
    found = [port for port in _OURS if _is_free(port)]
    with ExitStack() as claims:
        blocks = _free_blocks(claims)
        claimed: list[int] = []
        while len(found) < count:
            block = next(blocks, None)
            if block is None:
                raise OSError(errno.EADDRINUSE, f"only {len(found)} of {count} ports are free")
            claimed += block
            found += [port for port in block if _is_free(port)]
        _CLAIMS.push(claims.pop_all())
    given = found[:count]
    _OURS.extend(claimed)
    for port in given:
        _OURS.remove(port)
        _OURS.append(port)
    return given


def _free_blocks(claims: ExitStack) -> Iterator[range]:
    """Claim one block after the other, for as long as `claims` is open."""
    starts = list(_PORTS[::_BLOCK])
    random.SystemRandom().shuffle(starts)
    for start in starts:
        claim = _bound(start)
        if claim is not None:
            claims.enter_context(claim)
            yield range(start + 1, min(start + _BLOCK, _PORTS.stop))


def _is_free(port: int) -> bool:
    probe = _bound(port)
    if probe is not None:
        probe.close()
    return probe is not None


def _bound(port: int) -> socket.socket | None:
    """A socket at a port; None where somebody else has it."""
    bound = socket.socket()
    try:
        bound.bind(("127.0.0.1", port))
    except OSError:
        bound.close()
        return None
    return bound


def loopback_interface() -> str:
    """The loopback's name: gloo fails on a network interface that does not exist."""
    names = [name for _, name in socket.if_nameindex()]
    return next((name for name in names if name.startswith("lo")), "lo")
