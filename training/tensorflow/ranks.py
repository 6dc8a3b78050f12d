"""The ranks of a job, and what they tell each other: integers, bytes and sums.

MultiWorkerMirroredStrategy runs the collectives. Every rank is a worker of one replica, so the
strategy has nothing to mirror: weights are variables of the process, equal because all ranks start
from the same ones and apply the same reduced gradients.
"""

import logging
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from training.contract.attendance import Attendance
from training.contract.errors import ContractError
from training.contract.stops import was_told
from training.trainer.ranks import check_gpus_used

_WORD_BYTES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranks:
    """This process among all ranks of the job."""

    rank: int
    world_size: int
    local_rank: int
    """The rank among those of this host."""
    local_world_size: int
    strategy: Any
    attendance: Attendance = field(default_factory=lambda: Attendance(None))
    """Told of every place where the ranks meet."""
    _gather: Any = field(init=False)
    _add: Any = field(init=False)

    def __post_init__(self) -> None:
        # Collectives want a graph.
        row = tf.TensorSpec([1, None], tf.int64)
        object.__setattr__(self, "_gather", tf.function(self._gather_rows, input_signature=[row]))
        object.__setattr__(self, "_add", tf.function(self.sum_tensors))

    @property
    def is_chief(self) -> bool:
        """Whether this is global rank 0."""
        return self.rank == 0

    def all_gather(self, numbers: Sequence[int]) -> list[list[int]]:
        """Give integers of 64 bits, as many on each rank, and get those of every rank in order."""
        rows: list[list[int]] = self._gathered(np.array([list(numbers)], np.int64)).tolist()
        return rows

    def gather_bytes(self, content: bytes) -> list[bytes]:
        """Give bytes, any number on each rank, and get those of every rank in order."""
        sizes = [size for (size,) in self.all_gather([len(content)])]
        words = -(-max(sizes) // _WORD_BYTES)
        padded = np.frombuffer(content.ljust(words * _WORD_BYTES, b"\0"), np.int64)
        rows = self._gathered(padded[np.newaxis])
        return [row.tobytes()[:size] for row, size in zip(rows, sizes, strict=True)]

    def sum_counts(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Add integers of equal shape over all ranks."""
        with self.attendance.waiting():
            (total,) = self._add([tf.constant(counts)])
            return np.asarray(total)

    def sum(self, numbers: Sequence[float]) -> list[float]:
        """Add n numbers of float64 over all ranks.

        Returns:
            The n sums, the same on every rank.
        """
        with self.attendance.waiting():
            (total,) = self._add([tf.constant(numbers, tf.float64)])
            return [float(number) for number in total]

    def sum_tensors(self, tensors: Sequence[Any]) -> list[Any]:
        """Add tensors of equal shapes over all ranks, in a graph.

        Whoever runs the graph tells `attendance`.
        """
        summed: Sequence[Any] = self.strategy.run(_sum, args=(tensors,))
        return list(summed)

    def _gathered(self, row: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give numbers, shape (1, n), and get those of all ranks, shape (world_size, n)."""
        with self.attendance.waiting():
            return np.asarray(self._gather(row))

    def _gather_rows(self, row: Any) -> Any:  # noqa: ANN401 - TensorFlow has no types
        return self.strategy.run(_gather, args=(row,))


def _sum(tensors: Sequence[Any]) -> Any:  # noqa: ANN401 - TensorFlow has no types
    # Without identity, a tensor that comes from outside of the strategy is not reduced.
    mine = [tf.identity(tensor) for tensor in tensors]
    return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, mine)


def _gather(row: Any) -> Any:  # noqa: ANN401 - TensorFlow has no types
    return tf.distribute.get_replica_context().all_gather(tf.identity(row), axis=0)


@contextmanager
def join_ranks() -> Iterator[Ranks]:
    """Meet the other ranks: over NCCL where there is a GPU for this rank, else over gRPC.

    The launcher sets the variables that this reads; without them this process is the only rank.
    Nobody leaves before all are done. A rank that fails leaves at once: its exception is then on
    file before the others notice that it is gone.

    Raises:
        ContractError: TensorFlow can use no GPU of a host that has some, or sees another number of
            devices than there are ranks.
    """
    tf.get_logger().setLevel(logging.WARNING)  # it remarks on every collective
    rank = int(os.environ.get("RANK", "0"))
    attendance = Attendance.from_environment(rank=rank)
    check_gpus_used("TensorFlow", uses_one=bool(tf.config.list_physical_devices("GPU")))
    # No timeout of TensorFlow's own: it costs a thread per exchange, which sleeps for that long.
    with attendance.waiting():
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
    world_size = int(os.environ.get("WORLD_SIZE", "1"))
    _check_replicas(strategy.num_replicas_in_sync, world_size)
    # The strategy has taken over SIGTERM, and only notes it: a rank that is told to stop must end.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if was_told():
        os.kill(os.getpid(), signal.SIGTERM)
    ranks = Ranks(
        rank=rank,
        world_size=world_size,
        local_rank=int(os.environ.get("LOCAL_RANK", "0")),
        local_world_size=int(os.environ.get("LOCAL_WORLD_SIZE", "1")),
        strategy=strategy,
        attendance=attendance,
    )
    yield ranks
    ranks.all_gather([0])


def _check_replicas(replicas: int, world_size: int) -> None:
    if replicas != world_size:
        raise ContractError(
            f"TensorFlow sees {replicas} devices and workers in all, but there are {world_size} "
            "ranks. Allowed: one device per rank. Start them with python -m training.launch, which "
            "sets TF_CONFIG and CUDA_VISIBLE_DEVICES for each."
        )
