"""One vocabulary for all hosts, each of which sees only its own records.

Every rank counts the words of its records; the counts are added over all ranks, so the result does
not depend on who holds what. Memory is bounded by counting in two passes:

1. Words go into a sketch: 34 MB on each rank, however many different words there are.
2. Only the words that may be frequent enough by the sketch are counted by themselves: not many
   more than a million of them (or ten per word that is wanted, where that is more).

With no more different words than a million, on all ranks together, nothing can be lost. With more,
a frequent word is lost only if it shares its buckets with none that are as heavy as the chosen
ones: it then occurs at most as often as the heaviest of the other buckets weighs, which is told.
"""

import heapq
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from training.records.packed import Packed
from training.tensorflow.sketch import Exchange, Sketch
from training.tensorflow.strings import cut
from training.tensorflow.words import listed_runs, split_words

SPECIAL_ROWS: Final = 2
"""Rows of the embedding table that stand for no word: padding, and words that are not listed."""

_TOLD_PER_WORD: Final = 4
"""Buckets whose words the ranks tell each other at first, per word that is wanted."""
_MOST_KEPT: Final = 2**20
"""Words that the first pass keeps: with no more of them, a rank needs no second pass. Also rare
words that the second pass keeps."""
_GROUP_WORDS: Final = 2**18
"""Different words counted before they go into the sketch."""
_TOLD_AT_ONCE: Final = 2**20
"""Words of all ranks in one exchange."""

Texts = Callable[[], Iterable[Packed]]
"""This rank's texts from the first one on, every time that it is called."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words that a model knows, the most frequent first."""

    words: tuple[str, ...]
    unseen_count: int = 0
    """A word that is missing occurs at most so often, unless it is rarer than the last listed."""

    @property
    def digest(self) -> int:
        """Of words and order: 63 bits."""
        content = sha256("\n".join(self.words).encode()).digest()
        return int.from_bytes(content[:8], "big") >> 1


def count_vocabulary(texts: Texts, ranks: Exchange, *, size: int, ngrams: int) -> Vocabulary:
    """Find the most frequent words of all ranks' texts; of equal counts, the first in the alphabet.

    Args:
        texts: called once or twice.
        ranks: all of which must call this.
        size: words that are wanted, 1 or more.
        ngrams: words in the longest run that counts like a word, 1 or more.
    """
    sketch, kept = _first_pass(texts(), size, ngrams)
    sketch.share(ranks)
    most = sketch.buckets_for(max(_MOST_KEPT, _TOLD_PER_WORD * size))
    if kept is None:
        kept = _second_pass(texts(), ngrams, sketch, most)
    # All ranks get the same and go on alike: more is told where the first words are not enough.
    told = min(most, _TOLD_PER_WORD * size)
    while True:
        sieve = sketch.heaviest(told)
        listed = _most_frequent(sieve.passing(kept), ranks, size)
        rarest = listed[-1][1] if len(listed) == size else 0
        if told == most or sieve.lost_count < max(1, rarest):
            break
        told = min(most, told * 4)
    return Vocabulary(
        words=tuple(word.decode() for word, _ in listed),
        unseen_count=sieve.lost_count if sieve.lost_count > rarest else 0,
    )


def _first_pass(
    texts: Iterable[Packed], size: int, ngrams: int
) -> tuple[Sketch, Counter[bytes] | None]:
    """Weigh all words.

    Returns:
        The sketch, and how often each word occurs; None if these are too many to keep.
    """
    sketch = Sketch(size)
    kept: Counter[bytes] | None = Counter()
    for group in _counted(texts, ngrams):
        sketch.add(group)
        if kept is not None:
            kept.update(group)
            kept = kept if len(kept) <= _MOST_KEPT else None
    return sketch, kept


def _second_pass(
    texts: Iterable[Packed], ngrams: int, sketch: Sketch, buckets: int
) -> Counter[bytes]:
    """Count the words of the heaviest buckets."""
    sieve = sketch.heaviest(buckets)
    kept: Counter[bytes] = Counter()
    for group in _counted(texts, ngrams):
        kept.update(sieve.passing(group))
    return kept


def _counted(texts: Iterable[Packed], ngrams: int) -> Iterator[Counter[bytes]]:
    """Count words, some hundred thousand different ones at a time."""
    group: Counter[bytes] = Counter()
    for packed in texts:
        for text in cut(packed):
            words = split_words(text)
            for length in range(1, ngrams + 1):
                group.update(listed_runs(words, length))
            if len(group) > _GROUP_WORDS:
                yield group
                group = Counter()
    yield group


def _most_frequent(
    counts: Mapping[bytes, int], ranks: Exchange, size: int
) -> list[tuple[bytes, int]]:
    """Add counted words over all ranks, not all words at once, and keep the most frequent.

    Returns:
        Words and counts, the most frequent first; `size` of them, or fewer if there are no more.
    """
    of_ranks = [int(number) for number in ranks.gather_bytes(b"%d" % len(counts))]
    exchanges = max(1, -(-max(of_ranks) * len(of_ranks) // _TOLD_AT_ONCE))
    parts: list[dict[bytes, int]] = [{} for _ in range(exchanges)]
    for word, count in counts.items():
        parts[zlib.crc32(word) % exchanges][word] = count
    listed: list[tuple[bytes, int]] = []
    for part in parts:
        added = _add_up(part, ranks)
        listed = heapq.nsmallest(
            size, [*listed, *added.items()], key=lambda item: (-item[1], item[0])
        )
    return listed


def _add_up(counts: Mapping[bytes, int], ranks: Exchange) -> Counter[bytes]:
    """Add counted words over all ranks."""
    told = json.dumps([[word.decode() for word in counts], list(counts.values())]).encode()
    merged: Counter[bytes] = Counter()
    for content in ranks.gather_bytes(told):
        words, numbers = json.loads(content)
        for word, number in zip(words, numbers, strict=True):
            merged[word.encode()] += number
    return merged
