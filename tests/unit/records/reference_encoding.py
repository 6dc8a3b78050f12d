"""The encoding of texts written the plain way, one text and one word after the other."""

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from training.records.packed import Packed, pack

WORD = re.compile(rb"[0-9A-Za-z_\x80-\xff]+|[!$%]+")
WIDTH = 2**64


def packed(texts: Sequence[str | bytes]) -> Packed:
    contents = [text.encode() if isinstance(text, str) else text for text in texts]
    return pack(pa.array(contents, pa.large_binary()))


def mixed(value: int) -> int:
    for _ in range(2):
        value = (value ^ value >> 32) * 0xD6E8FEB86659FD93 % WIDTH
    return value ^ value >> 32


def word_hash(word: bytes) -> int:
    eights = [
        mixed(int.from_bytes(word[start : start + 8].rjust(8, b"\0"), "little"))
        for start in range(0, len(word), 8)
    ]
    if len(eights) == 1:
        return eights[0]
    power, total = 1, 0
    for eight in eights:
        total += eight * power
        power = power * 0x9E3779B97F4A7C15 % WIDTH
    return mixed(total % WIDTH)


def word_hashes(text: str | bytes) -> list[int]:
    content = text.encode() if isinstance(text, str) else text
    return [word_hash(word.lower()) for word in WORD.findall(content)]


def bucket(code: int, buckets: int) -> int:
    return (mixed(code) >> 32) * buckets >> 32


def bag(text: str | bytes, ngrams: int, buckets: int) -> list[int]:
    hashes = word_hashes(text)
    found = set()
    for first in range(len(hashes)):
        code = 0
        for word in hashes[first : first + ngrams]:
            code = (code * 0x2545F4914F6CDD1D + word) % WIDTH
            found.add(bucket(code, buckets))
    return sorted(found)


def sequence(text: str | bytes, buckets: int) -> list[int]:
    return [bucket(word, buckets) for word in word_hashes(text)]


def padded(
    rows: Sequence[Sequence[int]], width: int
) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    matrix = np.zeros((len(rows), width), np.int64)
    for row, ids in zip(matrix, rows, strict=True):
        for column, number in enumerate(ids[:width]):
            row[column] = number + 1
    return matrix
