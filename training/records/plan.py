"""The plan of an epoch: what every rank does in which step."""

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate


@dataclass(frozen=True, kw_only=True)
class EpochPlan:
    """What every rank does in an epoch; the same object on each of them."""

    counts: tuple[int, ...]
    """Records of each rank, shape (ranks,)."""

    batch_size: int
    """Records of one rank in one step, 1 or more; a rank's last batch may hold fewer."""

    uneven: str = "weight"
    """"weight": all ranks step until no rank has records left. "drop": until one has no full batch
    left; the records of the others are not used in this epoch."""

    @cached_property
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
        return self.records_in_steps(step, step + 1)

    def records_in_steps(self, first: int, last: int) -> int:
        """Return the records all ranks together use in the steps from `first` up to `last`.

        Takes as long for many steps as for one, and hardly longer for many ranks: it is asked in
        every step.

        Args:
            first: Of the epoch, from 0.
            last: The first that does not count, greater than `first`.
        """
        self._check(first)
        self._check(last - 1)
        return self._records_before(last) - self._records_before(first)

    def records_of_rank_in_step(self, rank: int, step: int) -> int:
        """Return the records `rank` uses in `step`; 0 once it has run out of them."""
        self._check(step)
        return min(max(self.counts[rank] - step * self.batch_size, 0), self.batch_size)

    def _check(self, step: int) -> None:
        if not 0 <= step < self.steps:
            raise ValueError(f"step={step}: this epoch has steps 0 to {self.steps - 1}.")

    def _records_before(self, step: int) -> int:
        """Return the records all ranks together use before `step`, were they to use all."""
        at_most = step * self.batch_size
        done = bisect_right(self._ascending, at_most)
        return self._sums[done] + (len(self.counts) - done) * at_most

    @cached_property
    def _ascending(self) -> list[int]:
        return sorted(self.counts)

    @cached_property
    def _sums(self) -> list[int]:
        """Records of the ranks that have the fewest: of none of them, of one, of two, ..."""
        return list(accumulate(self._ascending, initial=0))
