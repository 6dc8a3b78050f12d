"""Packed texts to the integers that models take: bags of word n-grams, sequences of words.

An n-gram is a run of words of one text. Its hash continues that of the run which is one word
shorter and starts where it does; the highest half of the mixed hash is scaled to the buckets:

    code(a) = hash(a);  code(a b) = code(a) * Q + hash(b)   modulo 2**64
    bucket = (mix(code) >> 32) * buckets >> 32

A vocabulary would have to be equal on all hosts, and no host sees all records; a hash needs no
agreement, and is the same on every machine.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from training.records.encoding.words import hash_words, mix
from training.records.packed import Packed

_PIECE_BYTES: Final = 128 << 10
"""Text encoded at once: what is made of it stays in a processor's cache."""

MAX_BUCKETS: Final = 2**32

_NEXT_WORD: Final = np.uint64(0x2545F4914F6CDD1D)
"""Q: odd, so the words before the last count in full."""
_HALF: Final = np.uint64(32)

_Key = TypeVar("_Key", bound=np.signedinteger[Any])


class Ragged(NamedTuple):
    """Some integers for each of some texts."""

    ids: NDArray[np.int64]
    """Text after text; 0 to buckets - 1; shape (integers,)."""
    offsets: NDArray[np.int64]
    """Where each text starts in `ids` and, last, where the last one stops; shape (texts + 1,)."""

    def pad(self, width: int) -> NDArray[np.int64]:
        """Lay the integers out in rows of `width`: 0 is padding, 1 to `buckets` are the buckets.

        Returns:
            Shape (texts, width). A text of more than `width` integers keeps its first ones.
        """
        counts = np.diff(self.offsets)
        ids = self.ids
        if counts.max(initial=0) > width:
            ids = ids[np.arange(len(ids)) - np.repeat(self.offsets[:-1], counts) < width]
        rows = np.zeros((len(counts), width), np.int64)
        # Both sides run through the texts in order, and through each text's integers in order.
        rows[np.arange(width) < counts[:, np.newaxis]] = ids + 1
        return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class NgramEncoder:
    """Turns packed texts into buckets."""

    buckets: int
    """Different integers, 1 to 2**32."""

    ngrams: int = 1
    """Words in the longest run that counts, 1 or more; bags only."""

    def __post_init__(self) -> None:
        if not 1 <= self.buckets <= MAX_BUCKETS:
            raise ValueError(f"buckets={self.buckets}: set it to 1 or more, at most {MAX_BUCKETS}.")
        if self.ngrams < 1:
            raise ValueError(f"ngrams={self.ngrams}: set it to 1 or more.")

    def bags(self, texts: Packed) -> Ragged:
        """Find the distinct buckets of each text's runs of 1 to `ngrams` words, ascending."""
        return _join([self._bags_of_piece(piece) for piece in _pieces(texts)])

    def sequences(self, texts: Packed) -> Ragged:
        """Find the bucket of each word, in the order of the text, repetitions included."""
        return _join([self._sequences_of_piece(piece) for piece in _pieces(texts)])

    def _sequences_of_piece(self, texts: Packed) -> Ragged:
        words = hash_words(texts)
        return Ragged(self._buckets_of(words.hashes).astype(np.int64), words.offsets)

    def _bags_of_piece(self, texts: Packed) -> Ragged:
        words = hash_words(texts)
        # Text number and bucket in one number each: sorting them is finding the distinct ones.
        number = _number_type(len(texts) * self.buckets)
        firsts = (np.arange(len(texts) + 1) * self.buckets).astype(number)
        of_words = firsts[:-1].repeat(np.diff(words.offsets))
        keys = [of_words + self._buckets_of(words.hashes).astype(number)]
        codes = words.hashes
        for more in range(1, self.ngrams):
            codes = codes[:-1] * _NEXT_WORD + words.hashes[more:]
            of_runs = of_words[more:] + self._buckets_of(codes).astype(number)
            keys.append(of_runs[of_words[more:] == of_words[:-more]])
        distinct = _distinct(np.concatenate(keys))
        offsets = np.searchsorted(distinct, firsts)
        ids = distinct - np.repeat(firsts[:-1], np.diff(offsets))
        return Ragged(ids.astype(np.int64), offsets)

    def _buckets_of(self, codes: NDArray[np.uint64]) -> NDArray[np.uint64]:
        values = mix(codes.copy())
        values >>= _HALF
        values *= np.uint64(self.buckets)
        values >>= _HALF
        return values


def _pieces(texts: Packed) -> Iterator[Packed]:
    """Cut packed texts into some of about _PIECE_BYTES, each of whole texts."""
    first = 0
    while first < len(texts):
        start = texts.offsets[first]
        fits = int(np.searchsorted(texts.offsets, start + _PIECE_BYTES, side="right")) - 1
        last = max(fits, first + 1)
        offsets = texts.offsets[first : last + 1] - start
        yield Packed(texts.content[start : texts.offsets[last]], offsets)
        first = last


def _join(pieces: Sequence[Ragged]) -> Ragged:
    if len(pieces) == 1:
        return pieces[0]
    ids = [np.empty(0, np.int64), *(piece.ids for piece in pieces)]
    counts = [np.zeros(1, np.int64), *(np.diff(piece.offsets) for piece in pieces)]
    return Ragged(np.concatenate(ids), np.cumsum(np.concatenate(counts)))


def _number_type(largest: int) -> type[np.int32] | type[np.int64]:
    """Choose the smaller type if it will do: it sorts twice as fast."""
    return np.int32 if largest <= np.iinfo(np.int32).max else np.int64


def _distinct(keys: NDArray[_Key]) -> NDArray[_Key]:
    """Sort in place; keep one of each."""
    keys.sort()
    is_new = np.ones(len(keys), np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=is_new[1:])
    return keys[is_new]
