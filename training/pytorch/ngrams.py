"""Text to numbers without a vocabulary: every run of words is hashed into a fixed number of rows.

A vocabulary would have to be equal on all hosts, and no host sees all records; a hash needs no
agreement.
"""

import re
from typing import Final
from zlib import crc32

_WORD: Final = re.compile(r"\w+|[!$%]+")


def hash_ngrams(text: str, *, ngrams: int, buckets: int) -> list[int]:
    """Hash the runs of one to `ngrams` words of a text.

    Args:
        text: any text; one without words has no n-grams.
        ngrams: words in the longest run.
        buckets: results lie in 0..buckets - 1.

    Returns:
        The distinct buckets, ascending.
    """
    # CRC-32 and not hash(): the latter differs from process to process.
    words = [b" " + word.encode() for word in _WORD.findall(text.lower())]
    codes = [0] * len(words)
    found: set[int] = set()
    for shorter in range(ngrams):
        # The code of a run continues that of the run one word shorter which starts where it does.
        codes = [crc32(word, code) for word, code in zip(words[shorter:], codes, strict=False)]
        found.update(code % buckets for code in codes)
    return sorted(found)
