"""What the parts that both trainers share need to know of a process among all."""

from collections import Counter
from collections.abc import Sequence
from typing import Protocol

from training.contract.cluster import Cluster
from training.contract.errors import ContractError


class JobRanks(Protocol):
    """This process among all ranks of the job."""

    @property
    def rank(self) -> int:
        """The global one."""
        ...

    @property
    def world_size(self) -> int:
        """Ranks of all hosts."""
        ...

    @property
    def local_rank(self) -> int:
        """The rank among those of this host."""
        ...

    @property
    def local_world_size(self) -> int:
        """Ranks of this host."""
        ...

    def all_gather(self, numbers: Sequence[int]) -> list[list[int]]:
        """Give integers of 64 bits, as many on each rank, and get those of every rank in order."""
        ...


def check_world(ranks: JobRanks, cluster: Cluster) -> None:
    """Refuse another number of ranks than hosts x devices; all ranks must call it.

    The launcher starts the right ones. Whoever starts them otherwise, or overrides their number on
    one host, would train on records twice, or leave some out.

    Raises:
        ContractError: on all ranks alike: says how many ranks each host has.
    """
    said = ranks.all_gather([cluster.host_rank, ranks.local_rank, ranks.local_world_size])
    counts = Counter(host for host, _, _ in said)
    devices = said[0][2]
    wanted = [
        [host, rank, devices] for host in range(len(cluster.hosts)) for rank in range(devices)
    ]
    if sorted(said) == wanted:
        return
    told = ", ".join(f"{name} has {counts[number]}" for number, name in enumerate(cluster.hosts))
    raise ContractError(
        f"The job has {ranks.world_size} ranks on {len(cluster.hosts)} hosts: {told}. Allowed: "
        "hosts x devices, as many on each of the hosts that resourceconfig.json lists. Start them "
        "with python -m training.launch, or torchrun with that --nnodes and one --nproc-per-node."
    )
