"""What a rank of the trainer keeps in a checkpoint, and how it takes it over again.

Weights, the state of the optimizer and the vocabulary are equal on all ranks: rank 0 alone writes
them, numbers as arrays in their order. Files hold numbers and words only and run no code when they
are read.
"""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from training.checkpoints import NO_TROUBLE
from training.tensorflow.kept_vocabulary import write_kept
from training.tensorflow.learner import Learner
from training.tensorflow.ranks import Ranks

_FILE = "rank-00000.npz"


class LearnerTensors:
    """The variables of a model and its optimizer. Implements `training.trainer.kept.Tensors`."""

    def __init__(self, learner: Learner) -> None:
        self._learner = learner

    def write(self, folder: Path) -> Sequence[Path]:
        """Write the chief's file; the other ranks have nothing of their own.

        Raises:
            OSError: it cannot be written.
        """
        if not self._learner.ranks.is_chief:
            return []
        arrays = {f"v{number:05}": v.numpy() for number, v in enumerate(self._learner.variables)}
        path = folder / _FILE
        with path.open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays)
        return [path, write_kept(folder, self._learner.task.vocabulary)]

    def read(self, folder: Path, _ranks: int) -> None:
        """Take over the variables."""
        with np.load(folder / _FILE, allow_pickle=False) as arrays:
            # Only the scale of losses, which comes last, may be there or not: mixed_precision=auto
            # asks the GPU. With another number of other variables the checkpoint was refused.
            for variable, name in zip(self._learner.variables, sorted(arrays.files), strict=False):
                variable.assign(arrays[name])


class EpochLosses:
    """The losses of this rank in an epoch. Implements `training.trainer.kept.Losses`."""

    def __init__(self, ranks: Ranks) -> None:
        self._ranks = ranks
        self._sum = 0.0
        self._bad_batch = NO_TROUBLE

    def add(self, number: int, loss: float) -> None:
        """Add the sum over this rank's records in a batch."""
        self._sum += loss
        if not math.isfinite(loss) and self._bad_batch == NO_TROUBLE:
            self._bad_batch = number

    def total(self) -> float:
        """The sum over the epoch's steps."""
        return self._sum

    def total_of_ranks(self) -> float:
        """The same, added over all ranks."""
        (total,) = self._ranks.sum([self._sum])
        return total

    def restart(self, total: float) -> None:
        """Begin with a sum."""
        self._sum = total

    def first_bad(self) -> int:
        """The first batch whose loss is not finite, or NO_TROUBLE."""
        return self._bad_batch
