"""Which words may be frequent, found in bounded memory and without keeping any word.

Every word falls into one bucket in each of four rows, and a bucket weighs what its words occur
together. So a word occurs at most as often as the lightest of its buckets weighs: the frequent ones
are among those whose buckets are heavy in all rows. A rare word is among them, too, if it shares
each of its buckets with heavier ones, which four rows make improbable: choosing a part f of the
buckets lets little more than f**4 of the rare words through (Cormode, Muthukrishnan: An improved
data stream summary: the count-min sketch, 2005).

How many different words there are is estimated to 2 % (Flajolet and others: HyperLogLog, 2007).

All of this is sums and maxima over the ranks' words: it does not depend on who holds what.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from training.records.encoding.words import mix

_ROWS: Final = 4
_LEAST_BUCKETS: Final = 2**20
_BUCKETS_PER_WORD: Final = 16

_CROWDING: Final = 4
"""Heavy buckets hold more words than others; at the worst, so many times more pass all rows."""

_PRIME: Final = 2**61 - 1
_ROW_STEP: Final = 0x9E3779B97F4A7C15
_WORD_BITS: Final = 64

_REGISTER_BITS: Final = 12
_REST_BITS: Final = 52
_ALPHA: Final = 0.7213 / (1 + 1.079 / 2**_REGISTER_BITS)


class Exchange(Protocol):
    """What counting wants of the ranks."""

    def gather_bytes(self, content: bytes) -> list[bytes]:
        """Give bytes, any number on each rank, and get those of every rank in order."""
        ...

    def sum_counts(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Add integers of equal shape over all ranks."""
        ...


@dataclass(frozen=True, slots=True)
class Sieve:
    """Some heavy buckets of each row."""

    heavy: NDArray[np.bool_]
    """Whether each is chosen; shape (_ROWS, buckets)."""
    lost_count: int
    """A word that does not pass occurs at most so often."""

    def passing(self, counts: Mapping[bytes, int]) -> dict[bytes, int]:
        """Keep the words whose buckets are chosen in all rows."""
        if self.heavy.all():
            return dict(counts)
        numbers = _numbers(counts)
        passes = np.ones(len(numbers), np.bool_)
        for row, heavy in enumerate(self.heavy):
            passes &= heavy[_hashes(numbers, row) >> _shift(len(heavy))]
        return {
            word: count for (word, count), good in zip(counts.items(), passes, strict=True) if good
        }


class Sketch:
    """The weights of all buckets."""

    def __init__(self, size: int) -> None:
        """Weigh nothing yet.

        Args:
            size: words that are wanted.
        """
        buckets = max(_LEAST_BUCKETS, 1 << (size * _BUCKETS_PER_WORD - 1).bit_length())
        self._weights = np.zeros((_ROWS, buckets), np.int64)
        self._registers = np.zeros(2**_REGISTER_BITS, np.uint8)

    @property
    def buckets(self) -> int:
        """Of each row."""
        return self._weights.shape[1]

    def add(self, counts: Mapping[bytes, int]) -> None:
        """Add words and how often each occurs."""
        numbers = _numbers(counts)
        occurrences = np.fromiter(counts.values(), np.int64, len(counts))
        for row, weights in enumerate(self._weights):
            np.add.at(weights, _hashes(numbers, row) >> _shift(self.buckets), occurrences)
        hashes = _hashes(numbers, _ROWS)
        rest = hashes & np.uint64(2**_REST_BITS - 1)
        _, length = np.frexp(rest.astype(np.float64))  # exact: the rest has as many bits as that
        zeros = (_REST_BITS + 1 - length).astype(np.uint8)
        np.maximum.at(self._registers, hashes >> np.uint64(_REST_BITS), zeros)

    def share(self, ranks: Exchange) -> None:
        """Add up over all ranks."""
        self._weights = np.stack([ranks.sum_counts(row) for row in self._weights])
        registers = ranks.gather_bytes(self._registers.tobytes())
        self._registers = np.max([np.frombuffer(each, np.uint8) for each in registers], axis=0)

    def distinct(self) -> float:
        """Estimate how many different words there are."""
        registers, empty = len(self._registers), np.count_nonzero(self._registers == 0)
        if empty:
            return float(registers * np.log(registers / empty))
        return float(_ALPHA * registers**2 / np.exp2(-self._registers.astype(float)).sum())

    def heaviest(self, count: int) -> Sieve:
        """Choose the heaviest buckets of each row; of equal weights, the first ones."""
        heavy = np.zeros(self._weights.shape, np.bool_)
        if count >= self.buckets:
            return Sieve(~heavy, 0)
        lost_count = 0
        for weights, chosen in zip(self._weights, heavy, strict=True):
            order = np.argsort(-weights, kind="stable")
            chosen[order[:count]] = True
            lost_count = max(lost_count, int(weights[order[count]]))
        return Sieve(heavy, lost_count)

    def buckets_for(self, most_words: int) -> int:
        """How many buckets to choose so that not many more than `most_words` words pass."""
        distinct = self.distinct()
        if distinct <= most_words:
            return self.buckets
        return int((most_words / _CROWDING / distinct) ** (1 / _ROWS) * self.buckets)


def _numbers(words: Collection[bytes]) -> NDArray[np.uint64]:
    """A number of 61 bits for each word."""
    values: Iterable[int] = (int.from_bytes(word, "little") % _PRIME for word in words)
    return np.fromiter(values, np.uint64, len(words))


def _hashes(numbers: NDArray[np.uint64], row: int) -> NDArray[np.uint64]:
    return mix(numbers + np.uint64((row + 1) * _ROW_STEP % 2**_WORD_BITS))


def _shift(buckets: int) -> np.uint64:
    return np.uint64(_WORD_BITS - (buckets.bit_length() - 1))
