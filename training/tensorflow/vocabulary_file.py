"""The vocabulary channel: one file of words, which saves the counting."""

from codecs import BOM_UTF8
from collections.abc import Sequence
from pathlib import Path

from training.contract.errors import ContractError
from training.records import find_shards
from training.tensorflow.vocabulary import Vocabulary
from training.tensorflow.words import MAX_WORD_BYTES, is_run, split_words


def read_vocabulary(folder: Path, *, size: int, ngrams: int) -> Vocabulary:
    """Read a vocabulary channel: one file, one word or run of words per line, UTF-8.

    Hidden files and empty ones are skipped, as in the channels of records.

    Args:
        folder: of the channel.
        size: words at most.
        ngrams: words in the longest run.

    Raises:
        ContractError: there is not one file, or its lines are no vocabulary of this size.
        RecordError: the folder holds something else than files, or cannot be read.
    """
    files = find_shards(folder, chosen_format="lines")
    if len(files) != 1:
        raise ContractError(
            f"{folder} holds {len(files)} files that are neither hidden nor empty. Give one, with "
            "a word per line, or leave the channel away to have the words counted."
        )
    (file,) = files
    lines = file.path.read_bytes().removeprefix(BOM_UTF8).split(b"\n")
    lines = [line.removesuffix(b"\r") for line in lines]
    lines = lines[:-1] if lines[-1] == b"" else lines
    problem = _problem(lines, size, ngrams)
    if problem is not None:
        raise ContractError(f"{file.path}{problem}")
    return Vocabulary(words=tuple(line.decode() for line in lines))


def _problem(lines: Sequence[bytes], size: int, ngrams: int) -> str | None:
    if not 1 <= len(lines) <= size:
        return (
            f": {len(lines)} words. Allowed: 1 to {size}, which is vocabulary_size without two "
            "rows. Shorten the list or raise vocabulary_size."
        )
    first: dict[bytes, int] = {}
    for number, line in enumerate(lines, 1):
        problem = _line_problem(line, ngrams)
        if problem is None and line in first:
            problem = f"stands in line {first[line]}, too. Remove one of them."
        if problem is not None:
            return f", line {number}: {line.decode(errors='backslashreplace')!r:.80} {problem}"
        first[line] = number
    return None


def _line_problem(line: bytes, ngrams: int) -> str | None:
    try:
        line.decode()
    except UnicodeDecodeError:
        return "is not UTF-8. Save the file as UTF-8."
    words = split_words(line)
    if not words:
        return "holds no word. Remove the line."
    if is_run(line, ngrams):
        return None
    if len(words) > ngrams:
        return f"is a run of {len(words)} words. Shorten it, or raise ngrams, which is {ngrams}."
    found = b" ".join(words)
    if found != line:
        return (
            "is a word that no text has: their ASCII letters are put in lower case, ASCII "
            f"punctuation is taken out, blanks are single ones. Write {found.decode()!r:.80}."
        )
    return (
        f"is longer than {MAX_WORD_BYTES} bytes or ends with a NUL: Keras cannot list it. Remove "
        "the line."
    )
