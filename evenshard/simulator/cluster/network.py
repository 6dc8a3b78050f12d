"""How the simulated hosts of a job reach each other: free ports on the loopback interface."""

import errno
import random
import socket
from collections.abc import Iterator


def free_ports(count: int) -> list[int]:
    """Different ports that nobody on this machine listens at.

    Taken below the range that systems hand out for outgoing connections: between this call and the
    host's own `listen`, no connection can be given such a port.

    Raises:
        OSError: there are not as many.
    """
    found: list[int] = []
    for port in _candidates():
        if len(found) == count:
            break
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(port)
    if len(found) < count:
        raise OSError(errno.EADDRINUSE, f"only {len(found)} of {count} ports are free")
    return found


def _candidates() -> Iterator[int]:
    ports = list(range(15_000, 32_000))
    random.SystemRandom().shuffle(ports)
    return iter(ports)


def loopback_interface() -> str:
    """The loopback's name: gloo fails on a network interface that does not exist."""
    names = [name for _, name in socket.if_nameindex()]
    return next((name for name in names if name.startswith("lo")), "lo")
