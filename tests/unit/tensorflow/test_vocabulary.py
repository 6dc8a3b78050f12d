import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import pytest

from tests.unit.tensorflow.thread_ranks import ThreadRank, on_ranks
from training.records.packed import Packed
from training.tensorflow import sketch, vocabulary
from training.tensorflow.vocabulary import Vocabulary, count_vocabulary
from training.tensorflow.words import MAX_WORD_BYTES, split_words

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


@pytest.mark.parametrize("cuts", [[], [100]])
def test_a_second_pass_and_many_exchanges_find_the_same(
    monkeypatch: pytest.MonkeyPatch, cuts: list[int]
) -> None:
    texts = corpus(300)
    once = counted(texts, cuts)
    monkeypatch.setattr(vocabulary, "_MOST_KEPT", 50)
    monkeypatch.setattr(vocabulary, "_GROUP_WORDS", 20)
    monkeypatch.setattr(vocabulary, "_TOLD_AT_ONCE", 30)
    assert counted(texts, cuts) == once


def test_words_as_rare_as_all_others_are_listed() -> None:
    texts = [f"w{number}" for number in range(2000)]
    assert counted(texts, [7], size=100, ngrams=1) == [Vocabulary(plain_count(texts, 100, 1))] * 2


def squeeze(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few buckets, and few words in memory."""
    monkeypatch.setattr(sketch, "_LEAST_BUCKETS", 64)
    monkeypatch.setattr(sketch, "_BUCKETS_PER_WORD", 1)
    monkeypatch.setattr(vocabulary, "_TOLD_PER_WORD", 1)
    monkeypatch.setattr(vocabulary, "_MOST_KEPT", 20)
    monkeypatch.setattr(vocabulary, "_GROUP_WORDS", 20)


def test_too_many_words_are_deterministic_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    squeeze(monkeypatch)
    texts = corpus(300)
    (found,) = set(counted(texts, [100], size=40, ngrams=1))
    assert {found} == set(counted(texts, [10, 200], size=40, ngrams=1))
    missing = set(plain_count(texts, 40, ngrams=1)) - set(found.words)
    assert missing
    counts = Counter(word for text in texts for word in text.split())
    assert max(counts[word] for word in missing) <= found.unseen_count


def test_what_is_kept_is_bounded_whatever_the_number_of_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sketch, "_LEAST_BUCKETS", 2**12)
    monkeypatch.setattr(vocabulary, "_MOST_KEPT", 1000)
    monkeypatch.setattr(vocabulary, "_GROUP_WORDS", 5000)
    kept: list[int] = []
    pass_again = vocabulary._second_pass

    def second_pass(*arguments: Any) -> Counter[bytes]:  # noqa: ANN401 - handed on
        words = pass_again(*arguments)
        kept.append(len(words))
        return words

    monkeypatch.setattr(vocabulary, "_second_pass", second_pass)
    frequent = ["often " * 3, "always " * 4]
    for count in (20_000, 200_000):
        rare = [
            " ".join(f"{number:x}" for number in range(first, first + 1000))
            for first in range(0, count, 1000)
        ]
        texts = [*rare, *frequent * (count // 500)]
        (found,) = counted(texts, [], size=2, ngrams=1)
        assert found.words == ("always", "often")
    assert len(kept) == 2
    assert max(kept) < 2000


def test_a_word_that_is_too_long_is_not_listed() -> None:
    longest, longer = "x" * MAX_WORD_BYTES, "y" * (MAX_WORD_BYTES + 1)
    (found,) = counted([f"a {longest} b {longer} c"], [])
    assert sorted(found.words) == ["a", "b", "c", longest]


def test_a_word_that_ends_with_a_nul_is_not_listed() -> None:
    (found,) = counted(["a a\x00 \x00 b\x00c"], [])
    assert sorted(found.words) == ["\x00 b\x00c", "a", "b\x00c"]


def test_nothing_is_said_where_nothing_can_be_missing() -> None:
    assert {found.unseen_count for found in counted(corpus(300), [7])} == {0}


def test_no_records_no_words() -> None:
    assert counted([], [0]) == [Vocabulary(())] * 2


def test_digest_is_of_words_and_order() -> None:
    assert Vocabulary(("a", "b")).digest == Vocabulary(("a", "b")).digest
    assert Vocabulary(("a", "b")).digest != Vocabulary(("b", "a")).digest
    assert 0 <= Vocabulary(()).digest < 2**63
