"""Text that looks like text: words by Zipf's law, lines of very unequal length. Deterministic."""

from collections.abc import Iterator

import numpy as np

VOCABULARY = 20_000
POOL_WORDS = 1_000_000
"""Words of the running text that lines are cut from."""
MEDIAN_BYTES = 170
"""Of a line; the mean is about 200."""
LONGEST_BYTES = 4_000
SHORTEST_BYTES = 8
SIGMA = 0.6
"""Of the logarithm of a line's length."""
LETTERS = "etaoinshrdlcumwfgypbvk"
OTHER_LETTERS = "éüñßöåçø中文"
OTHER_WORDS_EVERY = 200
"""One word in so many holds a letter beyond ASCII: about one line in eleven, as in mail."""


class Text:
    """Running text, and lines cut from it."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.Generator(np.random.PCG64(seed))
        words = self._words()
        weights = 1 / np.arange(1, VOCABULARY + 1)
        chosen = self._random.choice(VOCABULARY, size=POOL_WORDS, p=weights / weights.sum())
        encoded = [words[index].encode() for index in chosen]
        self._pool = b" ".join(encoded)
        self._starts = np.cumsum([0] + [len(word) + 1 for word in encoded])
        """Where each word begins in the pool; the last one is where a further one would."""

    def lines(self, count: int) -> Iterator[bytes]:
        """Yield `count` lines without their newlines, whole words each."""
        longest = int(self._starts[-1]) - LONGEST_BYTES
        lengths = np.exp(self._random.normal(np.log(MEDIAN_BYTES), SIGMA, count))
        lengths = np.clip(lengths, SHORTEST_BYTES, LONGEST_BYTES - 100).astype(np.int64)
        wanted = self._random.integers(0, longest - LONGEST_BYTES, count)
        first = np.searchsorted(self._starts, wanted)
        last = np.searchsorted(self._starts, self._starts[first] + lengths, "right")
        spans = zip(self._starts[first].tolist(), (self._starts[last] - 1).tolist(), strict=True)
        for start, stop in spans:
            yield self._pool[start:stop]

    def _words(self) -> list[str]:
        """Make the vocabulary: frequent words short, some with punctuation."""
        letters = np.array(list(LETTERS))
        sizes = self._random.integers(1, 10, VOCABULARY) + np.linspace(0, 4, VOCABULARY).astype(int)
        drawn = self._random.choice(letters, int(sizes.sum()))
        words, place = [], 0
        for size in sizes.tolist():
            words.append("".join(drawn[place : place + size]))
            place += size
        for index in range(0, VOCABULARY, OTHER_WORDS_EVERY):
            # Not the most frequent words: those would be in every line.
            words[index + OTHER_WORDS_EVERY // 2] += OTHER_LETTERS[
                index // OTHER_WORDS_EVERY % len(OTHER_LETTERS)
            ]
        endings = self._random.choice(
            ["", ".", ",", "!", "?"], VOCABULARY, p=[0.86, 0.05, 0.07, 0.01, 0.01]
        )
        return [word + ending for word, ending in zip(words, endings.tolist(), strict=True)]
