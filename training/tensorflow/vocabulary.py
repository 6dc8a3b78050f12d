"""One vocabulary for all hosts, each of which sees only its own records.

Every rank counts the words of its records; the counts are added over all ranks, so the result does
not depend on who holds what. Memory is bounded by counting in two passes:

1. Words are hashed into 2**20 buckets, and the buckets' weights are added up: 8 MB on each rank.
2. Only words of the heaviest buckets, four per word that is wanted, are counted by themselves.

A word is lost if its bucket is none of these although it is frequent enough. That needs as many
heavier buckets, and is noticed: a word that was not counted occurs at most as often as the lightest
of the counted buckets weighs.

Words are found as Keras' TextVectorization finds them: ASCII letters in lower case, ASCII
punctuation taken out, split at ASCII blanks; runs of words are joined by a blank.
"""

import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from training.contract.errors import ContractError
from training.records.packed import Packed
from training.tensorflow.strings import cut

SPECIAL_ROWS: Final = 2
"""Rows of the embedding table that stand for no word: padding, and words that are not listed."""
UNLISTED: Final = "[UNK]"
"""Keras' name of the second."""

_BUCKETS: Final = 2**20
_BUCKETS_PER_WORD: Final = 4
_MOST_KEPT: Final = 2**20
"""Words that the first pass keeps: with no more of them, a rank needs no second pass."""
_GROUP_WORDS: Final = 2**18
"""Different words counted before they go into the buckets."""
_PUNCTUATION: Final = rb"""!"#$%&()*+,-./:;<=>?@[\]^_`{|}~'"""
_BLANK: Final = b" "


class Exchange(Protocol):
    """What counting wants of the ranks."""

    def gather_bytes(self, content: bytes) -> list[bytes]:
        """Give bytes, any number on each rank, and get those of every rank in order."""
        ...

    def sum_counts(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Add integers of equal shape over all ranks."""
        ...


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
    weights, kept = _weigh(texts(), ngrams)
    weights = ranks.sum_counts(weights)
    heavy, lightest = _heaviest(weights, size * _BUCKETS_PER_WORD)
    if kept is None:
        kept = Counter()
        for group in _counted(texts(), ngrams):
            kept.update({word: count for word, count in group.items() if heavy[_bucket(word)]})
    counts = _merge({w: n for w, n in kept.items() if heavy[_bucket(w)]}, ranks)
    listed = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:size]
    rarest = listed[-1][1] if listed else 0
    return Vocabulary(
        words=tuple(word.decode() for word, _ in listed),
        unseen_count=lightest if lightest > rarest else 0,
    )


def read_vocabulary(folder: Path, *, size: int) -> Vocabulary:
    """Read a vocabulary channel: one file, one word or run of words per line.

    Raises:
        ContractError: there is not one file, or its lines are no vocabulary of this size.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    if len(files) != 1:
        raise ContractError(
            f"{folder} holds {len(files)} files. Give one, with a word per line, or leave the "
            "channel away to have the words counted."
        )
    words = files[0].read_text(encoding="utf-8").split("\n")
    words = words[:-1] if words[-1] == "" else words
    problem = _problem(words, size)
    if problem is not None:
        raise ContractError(f"{files[0]}: {problem}")
    return Vocabulary(words=tuple(words))


def _problem(words: list[str], size: int) -> str | None:
    if not 1 <= len(words) <= size:
        return (
            f"{len(words)} words. Allowed: 1 to {size}, which is vocabulary_size without two rows. "
            "Shorten the list or raise vocabulary_size."
        )
    number = next((n for n, word in enumerate(words, 1) if word in ("", UNLISTED)), None)
    if number is not None:
        return f"line {number} is {words[number - 1]!r}. Write a word, or remove the line."
    twice = next((word for word, count in Counter(words).items() if count > 1), None)
    return None if twice is None else f"{twice!r} stands there twice. Remove one of them."


def split_words(text: bytes) -> list[bytes]:
    """Split a text as TextVectorization does by default."""
    return text.lower().translate(None, _PUNCTUATION).split()


def _weigh(texts: Iterable[Packed], ngrams: int) -> tuple[NDArray[np.int64], Counter[bytes] | None]:
    """Weigh the buckets.

    Returns:
        The weights, shape (_BUCKETS,), and all words; None if these are too many to keep.
    """
    weights = np.zeros(_BUCKETS, np.int64)
    kept: Counter[bytes] | None = Counter()
    for group in _counted(texts, ngrams):
        buckets = np.fromiter(map(_bucket, group), np.int64, len(group))
        np.add.at(weights, buckets, np.fromiter(group.values(), np.int64, len(group)))
        if kept is not None:
            kept.update(group)
            kept = kept if len(kept) <= _MOST_KEPT else None
    return weights, kept


def _counted(texts: Iterable[Packed], ngrams: int) -> Iterator[Counter[bytes]]:
    """Count words, some hundred thousand different ones at a time."""
    group: Counter[bytes] = Counter()
    for packed in texts:
        for text in cut(packed):
            words = split_words(text)
            group.update(words)
            for length in range(2, ngrams + 1):
                runs = (words[start:] for start in range(length))
                group.update(map(_BLANK.join, zip(*runs, strict=False)))
        if len(group) > _GROUP_WORDS:
            yield group
            group = Counter()
    yield group


def _bucket(word: bytes) -> int:
    return zlib.crc32(word) % _BUCKETS


def _heaviest(weights: NDArray[np.int64], most: int) -> tuple[NDArray[np.bool_], int]:
    """Choose the heaviest buckets; of equal weights, the first ones.

    Returns:
        Whether each is chosen, and the greatest weight of one that is not.
    """
    order = np.argsort(-weights, kind="stable")
    heavy = np.zeros(len(weights), np.bool_)
    heavy[order[:most]] = True
    return heavy, int(weights[order[most]]) if most < len(weights) else 0


def _merge(counts: dict[bytes, int], ranks: Exchange) -> Counter[bytes]:
    """Add counted words over all ranks."""
    told = json.dumps([[word.decode() for word in counts], list(counts.values())]).encode()
    merged: Counter[bytes] = Counter()
    for content in ranks.gather_bytes(told):
        words, numbers = json.loads(content)
        for word, number in zip(words, numbers, strict=True):
            merged[word.encode()] += number
    return merged
