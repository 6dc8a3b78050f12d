"""What stands for a framework: losses that are plain numbers, ranks that hear only themselves."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from training.checkpoints import NO_TROUBLE


@dataclass
class Numbers:
    """Losses that are plain numbers, and no tensors."""

    sum: float = 0.0
    bad_batch: int = NO_TROUBLE

    def add(self, number: int, loss: float) -> None:
        self.sum += loss
        if loss != loss and self.bad_batch == NO_TROUBLE:  # noqa: PLR0124 - only nan differs
            self.bad_batch = number

    def total(self) -> float:
        return self.sum

    def total_of_ranks(self) -> float:
        return self.sum

    def restart(self, total: float) -> None:
        self.sum = total

    def first_bad(self) -> int:
        return self.bad_batch

    def write(self, _folder: Path) -> Sequence[Path]:
        return []

    def read(self, _folder: Path, _ranks: int) -> None:
        return


@dataclass
class Rank:
    rank: int
    world_size: int
    local_rank: int = field(init=False)
    local_world_size: int = field(init=False)

    def __post_init__(self) -> None:
        self.local_rank, self.local_world_size = self.rank, self.world_size

    def all_gather(self, numbers: Sequence[int]) -> list[list[int]]:
        assert self.world_size == 1, "there is nobody to hear"
        return [list(numbers)]
