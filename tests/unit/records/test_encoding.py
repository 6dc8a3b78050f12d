import json
from collections import Counter
from itertools import pairwise
from zlib import crc32

import numpy as np
import pyarrow as pa
import pytest

from tests.unit.records import reference_encoding as reference
from tests.unit.records.reference_encoding import packed
from training.records.encoding import NgramEncoder, Ragged, hash_words, read_fields
from training.records.encoding.words import mix

TYPES = {"text": pa.string(), "label": pa.int64()}
GOOD = b'{"text": "a", "label": 1}'

# Single letters, all lengths around one and two eights, signs, several scripts, nothing.
TEXTS = [
    "a",
    "",
    "Only 100% FREE!!! Win $$$ now, e-mail me_at_once.",
    "x" * 7 + " " + "x" * 8 + " " + "x" * 9 + " " + "x" * 16 + " " + "x" * 17,
    "ends!with?signs%%",
    " \t\n\0 ... ",
    "Überraschung naïve 東京都庁 \U0001f600\U0001f600 до свидания",
    "again again again",
    "",
]


def split(ragged: Ragged) -> list[list[int]]:
    return [ragged.ids[first:last].tolist() for first, last in pairwise(ragged.offsets.tolist())]


def ids_of(*texts: str | bytes) -> list[list[int]]:
    return split(NgramEncoder(buckets=2**32).sequences(packed(texts)))


@pytest.mark.parametrize("ngrams", [1, 2, 3, 5])
@pytest.mark.parametrize("buckets", [1, 7, 2**16, 2**32])
def test_bags_are_those_of_single_texts(ngrams: int, buckets: int) -> None:
    bags = NgramEncoder(buckets=buckets, ngrams=ngrams).bags(packed(TEXTS))
    assert bags.ids.dtype == bags.offsets.dtype == np.int64
    assert split(bags) == [reference.bag(text, ngrams, buckets) for text in TEXTS]


def test_sequences_are_those_of_single_texts() -> None:
    sequences = NgramEncoder(buckets=1000).sequences(packed(TEXTS))
    assert split(sequences) == [reference.sequence(text, 1000) for text in TEXTS]


def test_hashes_are_the_same_everywhere() -> None:
    words = hash_words(packed(["free money", "Überraschung", "!"]))
    assert [f"{value:016x}" for value in words.hashes.tolist()] == [
        "1aa507b75f0ae01f",
        "52be2bd9d846748a",
        "029f6d436ee8e992",
        "e1fe7c3abbca4e47",
    ]
    assert words.offsets.tolist() == [0, 2, 3, 4]
    bags = NgramEncoder(buckets=2**16, ngrams=2).bags(packed(["free money"]))
    assert bags.ids.tolist() == [6344, 41387, 43280]


def test_case_counts_only_beyond_ascii() -> None:
    lower, upper = ids_of("money zoo", "MONEY ZOO")
    assert lower == upper
    assert len(lower) == 2
    assert ids_of("ü") != ids_of("Ü")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("one,two", ["one", "two"]),
        ("snake_case2", ["snake_case2"]),
        ("100%!", ["100", "%!"]),
        ("don't", ["don", "t"]),
        ("caf\u00e9-au-lait", ["caf\u00e9", "au", "lait"]),
        ("a\u00a0b", ["a\u00a0b"]),  # blanks that are not ASCII part nothing
        ("東京 都", ["東京", "都"]),
        ("@#&*()", []),
    ],
)
def test_what_a_word_is(text: str, words: list[str]) -> None:
    (ids,) = ids_of(text)
    assert ids == [number for word in words for number in ids_of(word)[0]]
    assert len(ids) == len(words)


def test_words_end_where_texts_do() -> None:
    assert ids_of("ab", "cd") != ids_of("abcd", "")
    bags = NgramEncoder(buckets=2**32, ngrams=2).bags(packed(["ab", "cd"]))
    assert np.diff(bags.offsets).tolist() == [1, 1]


def test_order_counts_in_runs_of_words() -> None:
    encoder = NgramEncoder(buckets=2**32, ngrams=2)
    one, other = split(encoder.bags(packed(["a b", "b a"])))
    assert len(set(one) & set(other)) == 2
    assert len(one) == len(other) == 3


def test_many_texts_are_encoded_in_pieces_alike() -> None:
    texts = [f"word{number} " * (number % 90) for number in range(1500)] + ["y" * 300_000, "z"]
    assert sum(map(len, texts)) > 4 * (128 << 10)
    encoder = NgramEncoder(buckets=5000, ngrams=2)
    together = packed(texts)
    assert split(encoder.bags(together)) == [reference.bag(text, 2, 5000) for text in texts]
    assert split(encoder.sequences(together)) == [
        number for text in texts for number in split(encoder.sequences(packed([text])))
    ]


def test_nothing_is_encoded_as_nothing() -> None:
    encoder = NgramEncoder(buckets=10, ngrams=2)
    for ragged in (encoder.bags(packed([])), encoder.sequences(packed([]))):
        assert ragged.ids.tolist() == []
        assert ragged.offsets.tolist() == [0]
        assert ragged.pad(3).shape == (0, 3)


def test_padding_keeps_the_first_words() -> None:
    ragged = Ragged(np.array([5, 0, 7, 9, 9, 9]), np.array([0, 1, 1, 3, 6]))
    assert ragged.pad(2).tolist() == [[6, 0], [0, 0], [1, 8], [10, 10]]
    assert ragged.pad(4).tolist() == [[6, 0, 0, 0], [0] * 4, [1, 8, 0, 0], [10, 10, 10, 0]]
    assert ragged.pad(0).shape == (4, 0)


@pytest.mark.parametrize("buckets", [0, -1, 2**32 + 1])
def test_buckets_are_bounded(buckets: int) -> None:
    with pytest.raises(ValueError, match=f"^buckets={buckets}: set it to 1 or more, at most 429"):
        NgramEncoder(buckets=buckets)


def test_ngrams_are_at_least_1() -> None:
    with pytest.raises(ValueError, match=r"^ngrams=0: set it to 1 or more\.$"):
        NgramEncoder(buckets=1, ngrams=0)


def words_of_a_language(count: int) -> list[str]:
    """Words that differ in few letters, as inflected forms, numbers and typing errors do."""
    stems = [f"{first}{second}" for first in ("in", "un", "re") for second in ("form", "act", "do")]
    return [f"{stems[number % 9]}{number // 9}{'s' * (number % 2)}" for number in range(count)]


def test_hashes_of_different_words_differ() -> None:
    words = [*words_of_a_language(200_000), *("w" * length for length in range(1, 400))]
    hashes = hash_words(packed([" ".join(words)])).hashes
    assert len(hashes) == len(set(words))
    assert len(set(hashes.tolist())) == len(hashes)


@pytest.mark.parametrize("buckets", [997, 2**14, 50_000])
def test_buckets_are_filled_as_evenly_as_by_a_checksum(buckets: int) -> None:
    words = words_of_a_language(200_000)
    ours = Counter(NgramEncoder(buckets=buckets).sequences(packed([" ".join(words)])).ids.tolist())
    checksums = Counter(crc32(word.encode()) % buckets for word in words)
    expected = len(words) / buckets

    def chi_squared(counts: Counter[int]) -> float:
        return sum((counts[number] - expected) ** 2 for number in range(buckets)) / expected

    # Of a fair die: buckets - 1, and 5 deviations more.
    assert chi_squared(ours) < buckets + 5 * (2 * buckets) ** 0.5
    collisions = [len(words) - len(counts) for counts in (ours, checksums)]
    assert collisions[0] <= collisions[1] + 3 * buckets**0.5


def test_mixing_is_one_to_one_and_spreads_every_bit() -> None:
    values = np.random.default_rng(0).integers(0, 2**64, 4096, np.uint64, endpoint=False)
    mixed = mix(values.copy())
    assert mixed.tolist() == [reference.mixed(value) for value in values.tolist()]
    for bit in range(64):
        changed = np.bitwise_count(mixed ^ mix(values ^ np.uint64(1 << bit)))
        assert 31 < changed.mean() < 33


def test_fields_are_read_without_looking_at_others() -> None:
    lines = [
        json.dumps(
            {"id": number, "text": f'Ä{number}\u2028"\n', "more": [{"text": 1}], "label": number},
            ensure_ascii=number % 2 == 0,
        )
        for number in range(300)
    ]
    table = read_fields(packed(lines), TYPES)
    assert table is not None
    assert table.schema == pa.schema(TYPES)
    assert table.to_pylist() == [
        {"text": f'Ä{number}\u2028"\n', "label": number} for number in range(300)
    ]


@pytest.mark.parametrize(
    "line",
    [
        b'{"text": "NaN and Inf. Information", "label": 1}',
        b'{"text": "[[[{{{", "label": -0}',
        b'{"text": "' + b"7" * 300 + b'", "label": 1, "x": [null, 1e5, false]}',
        b'{"text": "' + b"[" * 400 + b'", "label": 1}',
        b'{"te\\u0078t": "\\ud83d\\ude00\\u0000", "label": 1}',
    ],
)
def test_odd_texts_are_no_reason_to_doubt(line: bytes) -> None:
    table = read_fields(packed([GOOD, line, GOOD]), TYPES)
    assert table is not None
    expected = json.loads(line)
    assert table.to_pylist()[1] == {"text": expected["text"], "label": expected["label"]}


DOUBTFUL = {
    "nothing": b"",
    "blanks": b" {} ",
    "no object": b"[1]",
    "several objects": GOOD + GOOD,
    "two lines": b'{"text": "a",\n"label": 1}' + GOOD,
    "a newline in a text": b'{"text": "a}\n{", "label": 1}',
    "not UTF-8": b'{"text": "\xff", "label": 1}',
    "not UTF-8 elsewhere": b'{"text": "a", "label": 1, "x": "\xe9"}',
    "half a surrogate pair": b'{"text": "\\ud83d", "label": 1}',
    "half a surrogate pair elsewhere": b'{"text": "a", "label": 1, "x": "\\udc00"}',
    "a constant": b'{"text": "a", "label": 1, "x": NaN}',
    "an infinity": b'{"text": "a", "label": 1, "x": [-Infinity ]}',
    "a short infinity": b'{"text": "a", "label": 1, "x": Inf}',
    "a null byte": GOOD + b"\0}",
    "a control character": b'{"text": "a\x01", "label": 1}',
    "a long number": b'{"text": "a", "label": 1, "x": ' + b"1" * 5000 + b"}",
    "deep nesting": b'{"text": "a", "label": 1, "x": ' + b"[" * 5000 + b"]" * 5000 + b"}",
    "deep objects": b'{"text": "a", "label": 1, "x": ' + b'{"":' * 900 + b"1" + b"}" * 901,
    "no text": b'{"label": 1}',
    "null": b'{"text": null, "label": 1}',
    "a number as text": b'{"text": 1, "label": 1}',
    "a boolean label": b'{"text": "a", "label": true}',
    "a fraction": b'{"text": "a", "label": 1.0}',
    "a large label": b'{"text": "a", "label": 9223372036854775808}',
    "a label as text": b'{"text": "a", "label": "1"}',
    "the same twice": b'{"text": "a", "label": 1, "text": "b"}',
    "cut off": b'{"text": "a}',
    "a byte order mark": b"\xef\xbb\xbf" + GOOD,
}


@pytest.mark.parametrize("line", DOUBTFUL.values(), ids=DOUBTFUL)
def test_doubtful_lines_are_left_to_the_parser_of_single_records(line: bytes) -> None:
    assert read_fields(packed([GOOD, GOOD]), TYPES) is not None
    for lines in ([line], [GOOD, line], [line, GOOD], [GOOD, line, GOOD]):
        assert read_fields(packed(lines), TYPES) is None


@pytest.mark.parametrize(
    "lines",
    [
        [GOOD + GOOD, b""],
        [GOOD[:13], GOOD[13:] + GOOD],
        [b'{"text": "a", "label": 1, "x": ', b'{"y": 1}}' + GOOD],  # the second is braced
        [GOOD + b'{"text": "a", "x": {}', b', "label": 1}'],  # the first is braced
        [b'{"text": "a}', b'{", "label": 1}' + GOOD],  # both are braced
        [GOOD + GOOD + GOOD, b"{\0}", b"{\0}"],
        [GOOD + GOOD + b"\0}", b"{\0}"],
    ],
)
def test_several_objects_do_not_make_up_for_a_line_without_one(lines: list[bytes]) -> None:
    # As many objects as lines, but not one in each.
    assert read_fields(packed(lines), TYPES) is None


def test_no_lines_have_no_fields() -> None:
    assert read_fields(packed([]), TYPES) is None
