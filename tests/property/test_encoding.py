"""Encoding on random texts and lines, against the same written one record after the other."""

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.records import reference_encoding as reference
from tests.unit.records.reference_encoding import packed
from training.records import RecordError
from training.records.encoding import NgramEncoder, Ragged, read_fields
from training.records.formats.json_lines import parse

COMMON = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
FEW = settings(COMMON, max_examples=100, derandomize=True, database=None)
MANY = settings(COMMON, max_examples=1500)

few_and_many = pytest.mark.parametrize(
    "examples",
    [
        pytest.param(FEW, id="few"),
        pytest.param(MANY, id="many", marks=[pytest.mark.slow, pytest.mark.timeout(1200)]),
    ],
)

TYPES = {"text": pa.string(), "label": pa.int64()}

TEXTS = st.one_of(
    st.text(alphabet="aAbZz09_!$% .,-\n\0éÉ\u00a0\u2028東\U0001f600", max_size=60),
    st.text(alphabet="xY!", min_size=6, max_size=40),
    st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40),
    st.builds("{0}{1}".format, st.text(max_size=3, alphabet="ab "), st.just("long" * 500)),
)


def split(ragged: Ragged) -> list[list[int]]:
    return [ragged.ids[first:last].tolist() for first, last in pairwise(ragged.offsets.tolist())]


def _encoded_alike(texts: list[str], ngrams: int, buckets: int, width: int) -> None:
    encoder = NgramEncoder(buckets=buckets, ngrams=ngrams)
    bags = [reference.bag(text, ngrams, buckets) for text in texts]
    assert split(encoder.bags(packed(texts))) == bags
    rows = [reference.sequence(text, buckets) for text in texts]
    sequences = encoder.sequences(packed(texts))
    assert split(sequences) == rows
    assert (sequences.pad(width) == reference.padded(rows, width)).all()


@few_and_many
def test_texts_are_encoded_as_one_by_one(examples: settings) -> None:
    examples(
        given(
            texts=st.lists(TEXTS, max_size=8),
            ngrams=st.integers(1, 3),
            buckets=st.sampled_from([1, 2, 1000, 2**16, 2**24, 2**32]),
            width=st.integers(0, 12),
        )(_encoded_alike)
    )()


def _bytes_encoded_alike(contents: list[bytes]) -> None:
    bags = NgramEncoder(buckets=2**20, ngrams=2).bags(packed(contents))
    assert split(bags) == [reference.bag(content, 2, 2**20) for content in contents]


@few_and_many
def test_bytes_that_are_not_text_are_encoded_too(examples: settings) -> None:
    examples(given(contents=st.lists(st.binary(max_size=50), max_size=6))(_bytes_encoded_alike))()


# Values of other fields, of which nothing may matter as long as they are valid.
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda values: (
        st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=4), values, max_size=3)
    ),
    max_leaves=6,
)
OTHER_FIELDS = st.dictionaries(
    st.sampled_from(["id", "Text", "te", "", "label2", "ü", "NaN"]), VALUES, max_size=3
)
SEPARATORS = st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " :  "), (",\r", ":")])


@st.composite
def good_lines(draw: st.DrawFn) -> bytes:
    record: dict[str, Any] = {"text": draw(TEXTS), "label": draw(st.integers(-(2**63), 2**63 - 1))}
    record |= draw(OTHER_FIELDS)
    items = draw(st.permutations(list(record.items())))
    ensure_ascii = draw(st.booleans())
    line = json.dumps(dict(items), ensure_ascii=ensure_ascii, separators=draw(SEPARATORS))
    return line.encode(errors="replace")


def strictly(lines: Sequence[bytes]) -> list[dict[str, Any]] | None:
    """What the parser of single records makes of these lines, None where it refuses."""
    try:
        records = [parse(line) for line in lines]
    except RecordError:
        return None
    fields = [{name: record.get(name) for name in TYPES} for record in records]
    right = all(type(f["text"]) is str and type(f["label"]) is int for f in fields)
    return fields if right else None


def _good_lines_are_read(lines: list[bytes]) -> None:
    table = read_fields(packed(lines), TYPES)
    assert table is not None
    assert table.to_pylist() == strictly(lines)


@few_and_many
def test_good_lines_are_read(examples: settings) -> None:
    examples(given(lines=st.lists(good_lines(), min_size=1, max_size=5))(_good_lines_are_read))()


# What changes the meaning of JSON wherever it gets in.
FRAGMENTS = st.sampled_from(
    [
        *(bytes([byte]) for byte in b'{}[]",:\\\n\r\t \0\x01\x7f\xff\xe9-+.0179eEnNu/'),
        *(b"NaN", b"-Infinity", b"Inf", b"null", b"true", b"\\ud83d", b"\\ude00", b"\\u0041"),
        *(b'"text":', b'"label":', b'{"text":"a","label":1}', b"}{", b"}\n{", b"/**/", b"\\u00"),
        *(b'"x":NaN,', b'"x":[Infinity],', b'"text":"b",', b'"\\u0074ext":"c",', b'"x":0x1,'),
        *(b'"x":1.,', b'"x":.5,', b'"x":01,', b'"x":-,', b'"x":1e999,', b'"x":tru,', b'{"x":1},'),
        b"[" * 600 + b"]" * 600,
        b'"x":' + b"[" * 2000 + b"]" * 2000 + b",",
        b'"x":' + b"9" * 4400 + b",",
        b'"x":"' + b"9" * 4400 + b'",',
        b"\xef\xbb\xbf",
        b"\xed\xa0\xbd",
        b"\xc3",
    ]
)


@st.composite
def damaged_lines(draw: st.DrawFn) -> list[bytes]:
    lines = draw(st.lists(good_lines(), min_size=1, max_size=4))
    for _ in range(draw(st.integers(1, 3))):
        number = draw(st.integers(0, len(lines) - 1))
        line = lines[number]
        # As often at the ends and where a field begins as anywhere else.
        places = [0, 1, max(len(line) - 1, 0), len(line), draw(st.integers(0, len(line)))]
        first = draw(st.sampled_from(places))
        last = min(first + draw(st.sampled_from([0, 0, 0, 1, 2, 9])), len(line))
        lines[number] = line[:first] + draw(FRAGMENTS) + line[last:]
    if draw(st.booleans()):
        # The line between them is cut elsewhere.
        whole, cut = b"\n".join(lines), draw(st.integers(0, 60))
        lines = [whole[:cut], whole[cut:]]
    return lines


def _never_more_than_strictly(lines: list[bytes]) -> None:
    table = read_fields(packed(lines), TYPES)
    if table is not None:
        assert table.to_pylist() == strictly(lines)


@few_and_many
def test_damaged_lines_are_never_read_as_if_they_were_not(examples: settings) -> None:
    examples(given(lines=damaged_lines())(_never_more_than_strictly))()
