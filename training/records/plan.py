"""The plan of an epoch: what every rank does in which step."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochPlan:
    """What every rank does in an epoch; the same object on each of them."""

    counts: tuple[int, ...]
    """Records of each rank, shape (ranks,)."""

    batch_size: int
    """Records of one rank in one step, 1 or more; a rank's last batch may hold fewer."""

    uneven: str = "weight"
    """"weight": all ranks step until no rank has records left. "drop": until one has no full batch
    left; the records of the others are not used in this epoch."""

    @property
    def steps(self) -> int:
        """Steps every rank takes; 0 without records."""
        if self.uneven == "drop":
            return min(self.counts, default=0) // self.batch_size
        return -(-max(self.counts, default=0) // self.batch_size)

    @property
    def records(self) -> int:
        """Records all ranks together use in the epoch."""
        if self.uneven == "drop":
            return self.steps * self.batch_size * len(self.counts)
        return sum(self.counts)

    def records_in_step(self, step: int) -> int:
        """Return the records all ranks together use in `step`, 1 or more."""
        return sum(self.records_of_rank_in_step(rank, step) for rank in range(len(self.counts)))

    def records_of_rank_in_step(self, rank: int, step: int) -> int:
        """Return the records `rank` uses in `step`; 0 once it has run out of them."""
        if not 0 <= step < self.steps:
            raise ValueError(f"step={step}: this epoch has steps 0 to {self.steps - 1}.")
        return min(max(self.counts[rank] - step * self.batch_size, 0), self.batch_size)
