"""The ranks of a job, and what they tell each other: integers, sums and, rarely, a batch."""

import atexit
import gc
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, TypeVar

import torch

# Not used here, but DDP imports it at its first use, and the group that is there by then can never
# go again: it is the default argument of these functions. Now there is none.
import torch.distributed.nn.functional
from torch import Tensor, distributed
from torch.distributed import ProcessGroup
from torch.distributed.device_mesh import DeviceMesh

from training.contract.attendance import Attendance
from training.contract.errors import ContractError
from training.contract.hyperparameters import TrainingHyperparameters
from training.trainer.ranks import check_gpus_used

T = TypeVar("T")
_WATCHED_S: Final = 15.0
"""Where a launcher watches, it is to name who stalls, which the others cannot: they wait longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranks:
    """This process among all ranks of the job."""

    rank: int
    world_size: int
    local_rank: int
    """The rank among those of this host."""
    local_world_size: int
    device: torch.device
    attendance: Attendance = field(default_factory=lambda: Attendance(None))
    """Told of every place where the ranks meet."""

    @property
    def is_chief(self) -> bool:
        """Whether this is global rank 0."""
        return self.rank == 0

    def all_gather(self, numbers: Sequence[int]) -> list[list[int]]:
        """Give integers of 64 bits, as many on each rank, and get those of every rank in order."""
        mine = torch.tensor(list(numbers), dtype=torch.int64, device=self.device)
        gathered = [torch.empty_like(mine) for _ in range(self.world_size)]
        with self.attendance.waiting():
            distributed.all_gather(gathered, mine)
            return [tensor.tolist() for tensor in gathered]

    def sum(self, numbers: Tensor) -> list[float]:
        """Add tensors of float64 and equal shape (n,) over all ranks.

        Returns:
            The n sums, the same on every rank.
        """
        total = numbers.clone()
        with self.attendance.waiting():
            distributed.all_reduce(total)
            return [float(number) for number in total.tolist()]

    def sum_tensor(self, numbers: Tensor) -> Tensor:
        """Add tensors of equal shape and type over all ranks; all get the sum, as a new tensor."""
        total = numbers.clone()
        with self.attendance.waiting():
            distributed.all_reduce(total)
        return total

    def broadcast(self, thing: T | None, sender: int) -> T:
        """Give all ranks the sender's thing, which can be pickled; slow, for rare occasions."""
        things = [thing if self.rank == sender else None]
        with self.attendance.waiting():
            distributed.broadcast_object_list(things, src=sender, device=self.device)
        (received,) = things
        if received is None:
            raise AssertionError("the sender had nothing to send")
        return received


@contextmanager
def join_ranks(
    timeout_s: float = TrainingHyperparameters().collective_timeout_s,
) -> Iterator[Ranks]:
    """Meet the other ranks: over NCCL where there is a GPU for this rank, else over gloo.

    torchrun sets the variables that this reads. A rank that fails does not leave the group: its
    exception is then on file before the others notice that it is gone.

    Args:
        timeout_s: how long a rank waits for the others, to meet and in each exchange.

    Raises:
        ContractError: this host has GPUs, but none for this rank, or torch can use none.
    """
    local_rank = int(os.environ["LOCAL_RANK"])
    attendance = Attendance.from_environment(rank=int(os.environ["RANK"]))
    gpu = torch.cuda.is_available()
    check_gpus_used("torch", uses_one=gpu)
    device = torch.device("cuda", local_rank) if gpu else torch.device("cpu")
    if gpu:
        _check_gpus(torch.cuda.device_count(), int(os.environ["LOCAL_WORLD_SIZE"]))
        torch.cuda.set_device(device)
    waited_s = timeout_s + (_WATCHED_S if attendance.is_read else 0)
    with attendance.waiting():
        distributed.init_process_group(
            "nccl" if gpu else "gloo",
            device_id=device if gpu else None,
            timeout=timedelta(seconds=waited_s),
        )
    yield Ranks(
        rank=distributed.get_rank(),
        world_size=distributed.get_world_size(),
        local_rank=local_rank,
        local_world_size=int(os.environ["LOCAL_WORLD_SIZE"]),
        device=device,
        attendance=attendance,
    )
    group = distributed.group.WORLD
    distributed.destroy_process_group()
    atexit.register(_end_threads, [group])


def _check_gpus(gpus: int, local_ranks: int) -> None:
    if local_ranks > gpus:
        raise ContractError(
            f"{local_ranks} ranks on this host, which has {gpus} GPUs. Allowed: one per GPU. Start "
            "as many, or hide the GPUs with CUDA_VISIBLE_DEVICES= to train on processors."
        )


def _end_threads(groups: list[ProcessGroup | None]) -> None:
    """Let gloo's threads end; `groups` holds the last reference to what they work for.

    They must be gone before the interpreter: one that lets go of a tensor after it aborts the
    process (PyTorch pull 179291). And they need the interpreter's lock to let go, so whoever waits
    for them must not hold it: Python's reference to the group does not, that of a model in DDP,
    which may be part of a cycle, does. So the models go first. What FSDP shards by is kept for ever
    by caches of DTensor, and with it the group.
    """
    gc.collect()
    for thing in gc.get_objects():
        if type(thing) is DeviceMesh:
            thing._pg_registry.clear()  # noqa: SLF001 - torch has no other way to let go of a group
    groups.clear()
