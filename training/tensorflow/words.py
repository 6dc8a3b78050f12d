"""The words of a text, as Keras' TextVectorization finds them, and which of them it can list.

Words are ASCII letters in lower case, ASCII punctuation taken out, split at ASCII blanks. A run of
words is joined by a blank and counts like a word.
"""

from typing import Final

MAX_WORD_BYTES: Final = 128
"""Longest word, or run of words, that is listed. Keras keeps a vocabulary as an array whose rows
are all as wide as the longest word, 4 bytes a character: one of 1 MB among 20,000 would take 80 GB.
What is longer counts as not listed, as BERT's tokenizer has it from 100 characters on."""

_PUNCTUATION: Final = rb"""!"#$%&()*+,-./:;<=>?@[\]^_`{|}~'"""
_BLANK: Final = b" "


def split_words(text: bytes) -> list[bytes]:
    """Split a text as TextVectorization does by default."""
    return text.lower().translate(None, _PUNCTUATION).split()


def listed_runs(words: list[bytes], length: int) -> list[bytes]:
    """Find the runs of `length` neighbouring words that a vocabulary can list.

    Keras' array drops the NULs at a word's end: the word would be another one, or none.
    """
    shifted = (words[start:] for start in range(length))
    runs = words if length == 1 else map(_BLANK.join, zip(*shifted, strict=False))
    return [run for run in runs if len(run) <= MAX_WORD_BYTES and run[-1]]


def is_run(line: bytes, ngrams: int) -> bool:
    """Whether a text can have this word, or run of at most `ngrams` words, and list it."""
    words = split_words(line)
    return 0 < len(words) <= ngrams and listed_runs(words, len(words)) == [line]
