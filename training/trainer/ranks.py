"""What the parts that both trainers share need to know of a process among all."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol

from training.contract.cluster import Cluster
from training.contract.errors import ContractError
from training.contract.layout import DEVICES_PER_HOST_VARIABLE, GPU_COUNT_VARIABLE


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


def check_gpus_used(
    library: str, *, uses_one: bool, environment: Mapping[str, str] | None = None
) -> None:
    """Refuse to train on the processors of a host whose GPUs the launcher has counted.

    Nobody would notice: it only takes many times as long, at the price of the GPUs.

    Args:
        library: that was asked.
        uses_one: whether it has a GPU for this rank.
        environment: the variables to read; this process's own when None.

    Raises:
        ContractError: it has none, and nobody asked for that.
    """
    variables = os.environ if environment is None else environment
    counted = int(variables.get(GPU_COUNT_VARIABLE) or 0)
    if counted and not uses_one and variables.get("CUDA_VISIBLE_DEVICES") != "":
        raise ContractError(
            f"This host has {counted} GPUs, but {library} can use none of them: the image is one "
            "for processors, or its CUDA needs a newer driver than the instance type has. Choose "
            f"those that fit, or set {DEVICES_PER_HOST_VARIABLE} to train on processors."
        )


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
