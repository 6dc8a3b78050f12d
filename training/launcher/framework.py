"""What the launcher asks of a framework: how its ranks are started on one host."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from training.contract.cluster import Cluster
from training.launcher.job import HostJob
from training.launcher.peers import Rendezvous

SHUTDOWN_S: Final = 110
"""Until ranks that were told to stop are killed: of the 120 seconds between SageMaker's SIGTERM and
its SIGKILL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """One way of starting ranks. Whatever it is, one child of the launcher starts them all."""

    name: str
    """One of `layout.FRAMEWORKS`."""
    first_port: int
    """Where local rank 0 of each host is reached when no peers are given."""
    variables: Callable[[Cluster, int], Mapping[str, str]]
    """The environment that the ranks need, given how many threads each may run."""
    agent: Callable[[HostJob, Rendezvous, Path], list[str]]
    """The command that runs the host's ranks to their end and leaves what `diagnosis` reads in a
    scratch folder. It passes SIGTERM on to them."""
    exception_advice: str
    """What a script has to do for its exceptions to be seen."""
