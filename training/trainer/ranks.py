"""What the parts that both trainers share need to know of a process among all."""

from collections.abc import Sequence
from typing import Protocol


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
