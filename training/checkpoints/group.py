"""The ranks that write a checkpoint together, and how they tell each other what they know."""

import json
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

AllGather = Callable[[Sequence[int]], Sequence[Sequence[int]]]
"""The integers of this rank (signed, 64 bits) in, those of every rank, in rank order, out."""

_WORD_BYTES: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """This process among all ranks of a job."""

    rank: int
    local_rank: int
    """The rank among those of its host, which share a disk."""
    host: str
    all_gather: AllGather

    @property
    def is_chief(self) -> bool:
        """Whether this is global rank 0, which writes the index."""
        return self.rank == 0

    @property
    def is_first_of_host(self) -> bool:
        """Whether this rank tidies up on its host's disk."""
        return self.local_rank == 0

    def tell_all(self, statement: Any) -> list[Any]:  # noqa: ANN401 - whatever JSON holds
        """Give what JSON can hold, of any length, and get what every rank gave, in rank order.

        Two exchanges; equally often on all ranks.
        """
        text = json.dumps(statement).encode()
        padded = text.ljust(-(-len(text) // _WORD_BYTES) * _WORD_BYTES, b" ")
        longest = max(length for (length,) in self.all_gather([len(padded)]))
        words = array("q", padded.ljust(longest, b" "))
        return [json.loads(array("q", said).tobytes()) for said in self.all_gather(words.tolist())]
