"""Packed texts to hashed words, without a Python object per text or word.

A word is a run of ASCII letters, digits, underscores and bytes of 0x80 or more, so that UTF-8 text
of any script falls into words where ASCII blanks and punctuation part it. A run of `!`, `$` and `%`
is a word too. Letters count without their case, ASCII ones only: "Money" is "money", but "Ü" and
"ü" differ. Rules of Unicode would depend on the version of a library; bytes are the same anywhere.

The hash of a word is 64 bits wide: with w[0], w[1], ... its bytes in lower case by eights, each
eight read as a little-endian number (the last, shorter one moved up to the highest bytes),

    one eight:   mix(w[0])
    more:        mix(mix(w[0]) + mix(w[1]) * P + mix(w[2]) * P**2 + ...)   modulo 2**64
"""

from string import ascii_letters, digits
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from training.records.packed import Packed

_BYTES: Final = bytes(range(256))
_SIGNS: Final = b"!$%"
_LETTERS: Final = f"{ascii_letters}{digits}_".encode() + _BYTES[0x80:]
_KINDS: Final = bytes((byte in _LETTERS) + 2 * (byte in _SIGNS) for byte in _BYTES)
"""Of each byte: 0 parts words, 1 belongs to a word, 2 to a run of signs."""

_EIGHT: Final = 8
_POWER: Final = np.uint64(0x9E3779B97F4A7C15)
"""P: odd, so no eight of a long word is lost modulo 2**64."""
_FACTOR: Final = np.uint64(0xD6E8FEB86659FD93)
_HALF: Final = np.uint64(32)


class Words(NamedTuple):
    """The words of some texts, hashed."""

    hashes: NDArray[np.uint64]
    """Text after text, in the order of the text; shape (words,)."""
    offsets: NDArray[np.int64]
    """Where each text's words start in `hashes` and, last, where they stop; shape (texts + 1,)."""


def hash_words(texts: Packed) -> Words:
    """Hash every word of every text.

    Needs some 10 bytes of memory per byte of text; see `NgramEncoder` for more than a few MB.
    """
    raw = texts.content.tobytes()
    kinds = np.frombuffer(raw.translate(_KINDS), np.uint8)
    is_edge = np.ones(len(raw) + 1, np.bool_)
    np.not_equal(kinds[1:], kinds[:-1], out=is_edge[1:-1])
    is_edge[texts.offsets] = True
    edges = np.flatnonzero(is_edge)
    in_word = np.flatnonzero(kinds[edges[:-1]])
    starts = edges[in_word]
    lengths = edges[in_word + 1] - starts
    hashes = _hash_runs(raw.lower(), starts, lengths)
    return Words(hashes, np.searchsorted(starts, texts.offsets))


def mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread every bit of each number over all 64; one to one. Overwrites and returns `values`."""
    shifted = values >> _HALF
    for _ in range(2):
        values ^= shifted
        values *= _FACTOR
        np.right_shift(values, _HALF, out=shifted)
    values ^= shifted
    return values


def _hash_runs(
    lower: bytes, starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """Hash the runs of bytes at `starts`; shape (runs,)."""
    # Every byte begins an eight of its own; those that begin near the end need something to hold.
    eights = np.ndarray(len(lower), "<u8", lower + bytes(_EIGHT), strides=(1,))
    hashes = _eights_at(eights, starts, lengths)
    longer = np.flatnonzero(lengths > _EIGHT)
    if len(longer):
        # Few words are long, so only these pay for more than one eight.
        more = (lengths[longer] - 1) // _EIGHT
        firsts = np.cumsum(more) - more
        place = np.arange(1, more.sum() + 1) - np.repeat(firsts, more)
        done = place * _EIGHT
        at = np.repeat(starts[longer], more) + done
        values = _eights_at(eights, at, np.repeat(lengths[longer], more) - done)
        powers = np.multiply.accumulate(np.full(int(more.max()), _POWER))
        values *= powers[place - 1]
        hashes[longer] = mix(hashes[longer] + np.add.reduceat(values, firsts))
    return hashes


def _eights_at(
    eights: NDArray[np.uint64], starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """Mix the first eight bytes of each run, or what it has; no byte of a word is 0."""
    values = eights[starts].astype(np.uint64, copy=False)
    values <<= (_EIGHT * (_EIGHT - np.minimum(lengths, _EIGHT))).astype(np.uint64)
    return mix(values)
