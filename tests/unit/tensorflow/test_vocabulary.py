import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import keras
import numpy as np
import pytest

from tests.unit.tensorflow.thread_ranks import ThreadRank, on_ranks
from training.contract.errors import ContractError
from training.records.packed import Packed
from training.tensorflow import vocabulary as module
from training.tensorflow.vocabulary import (
    Vocabulary,
    count_vocabulary,
    read_vocabulary,
    split_words,
)

TRICKY = (
    "",
    " \t\r\n\x0b\x0c ",
    "Don't  STOP: it's 100% (really) [true]!",
    "Überraschung ÜBER ß\u00a0nbsp \u2028 line \x85 next",
    "a\x00b \x1c c",
    "snake_case and-dash e.g. 1,000.5 $$$ \\ ` ~ ^",
    "日本語 の テキスト",
)


def packed(texts: Sequence[str]) -> Packed:
    contents = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, contents)], dtype=np.int64)
    return Packed(np.frombuffer(b"".join(contents), np.uint8), offsets)


def corpus(count: int) -> list[str]:
    draw = random.Random(5)  # noqa: S311 - repeatable words, nothing secret
    words = [f"w{number}" for number in range(400)]
    weights = [1 / (number + 1) for number in range(400)]
    return [" ".join(draw.choices(words, weights, k=draw.randrange(30))) for _ in range(count)]


def counted(
    texts: Sequence[str], cuts: Sequence[int], *, size: int = 100, ngrams: int = 2
) -> list[Vocabulary]:
    """The vocabulary of each rank, when the texts are cut up among them at `cuts`."""
    bounds = [0, *cuts, len(texts)]

    def count(rank: int, ranks: ThreadRank) -> Vocabulary:
        mine = texts[bounds[rank] : bounds[rank + 1]]
        return count_vocabulary(lambda: [packed(mine)], ranks, size=size, ngrams=ngrams)

    return list(on_ranks(count, len(bounds) - 1))


def plain_count(texts: Sequence[str], size: int, ngrams: int = 2) -> tuple[str, ...]:
    """The same by a dictionary of everything."""
    counts: Counter[bytes] = Counter()
    for text in texts:
        words = split_words(text.encode())
        for length in range(1, ngrams + 1):
            runs = [words[i : i + length] for i in range(len(words) - length + 1)]
            counts.update(b" ".join(run) for run in runs)
    order = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple(word.decode() for word, _ in order[:size])


@pytest.mark.parametrize("ngrams", [1, 2, 3])
def test_words_are_those_that_keras_finds(ngrams: int) -> None:
    layer = keras.layers.TextVectorization(ngrams=ngrams)
    layer.adapt(list(TRICKY))
    (found,) = counted(TRICKY, [], size=1000, ngrams=ngrams)
    assert sorted(found.words) == sorted(layer.get_vocabulary(include_special_tokens=False))


@pytest.mark.parametrize("cuts", [[], [150], [0, 10, 299], [300, 300]])
def test_the_words_do_not_depend_on_who_holds_what(cuts: list[int]) -> None:
    texts = corpus(300)
    expected = Vocabulary(plain_count(texts, 100))
    assert counted(texts, cuts) == [expected] * (len(cuts) + 1)


def test_a_second_pass_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = corpus(300)
    once = counted(texts, [100])
    monkeypatch.setattr(module, "_MOST_KEPT", 50)
    monkeypatch.setattr(module, "_GROUP_WORDS", 20)
    assert counted(texts, [100]) == once


def test_too_many_words_are_bounded_deterministic_and_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # 400 words in 64 buckets, of which 20 are counted.
    monkeypatch.setattr(module, "_BUCKETS", 64)
    monkeypatch.setattr(module, "_BUCKETS_PER_WORD", 1)
    monkeypatch.setattr(module, "_MOST_KEPT", 50)
    texts = corpus(300)
    (found,) = set(counted(texts, [100], size=20, ngrams=1))
    assert {found} == set(counted(texts, [10, 200], size=20, ngrams=1))
    missing = set(plain_count(texts, 20, ngrams=1)) - set(found.words)
    assert missing
    counts = Counter(word for text in texts for word in text.split())
    assert max(counts[word] for word in missing) <= found.unseen_count


def test_nothing_is_said_where_nothing_can_be_missing() -> None:
    assert {found.unseen_count for found in counted(corpus(300), [7])} == {0}


def test_no_records_no_words() -> None:
    assert counted([], [0]) == [Vocabulary(())] * 2


def test_digest_is_of_words_and_order() -> None:
    assert Vocabulary(("a", "b")).digest == Vocabulary(("a", "b")).digest
    assert Vocabulary(("a", "b")).digest != Vocabulary(("b", "a")).digest
    assert 0 <= Vocabulary(()).digest < 2**63


# A vocabulary channel


def write(folder: Path, text: str) -> Path:
    (folder / "deep").mkdir()
    (folder / "deep" / "words.txt").write_text(text, encoding="utf-8")
    return folder


def test_a_file_of_words_is_read(tmp_path: Path) -> None:
    folder = write(tmp_path, "free money\nmeeting\nüber\n")
    assert read_vocabulary(folder, size=3) == Vocabulary(("free money", "meeting", "über"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "0 words. Allowed: 1 to 3"),
        ("a\nb\nc\nd\n", "4 words. Allowed: 1 to 3"),
        ("a\n\nb\n", "line 2 is ''"),
        ("a\n[UNK]\n", r"line 2 is '\[UNK\]'"),
        ("a\nb\na\n", "'a' stands there twice"),
    ],
)
def test_a_file_that_is_no_vocabulary_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(ContractError, match=expected):
        read_vocabulary(write(tmp_path, text), size=3)


def test_two_files_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "a\n")
    (tmp_path / "b.txt").write_text("b\n")
    with pytest.raises(ContractError, match=r"holds 2 files\. Give one"):
        read_vocabulary(tmp_path, size=3)
