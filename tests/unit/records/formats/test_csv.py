import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.unit.records.formats.shard_files import (
    blocks_of,
    counts_and_lengths,
    cut_short,
    read_all,
    write_shard,
)
from training.records.errors import RecordError
from training.records.formats.csv import CsvFormat
from training.records.formats.protocol import FormatSettings
from training.records.formats.registry import make_format
from training.records.shards import Shard

BOTH_WAYS = pytest.mark.parametrize("quoted_newlines", [False, True])
HEADER = b"id,text\n"


def written(rows: Sequence[Sequence[str]], line_end: str = "\r\n") -> bytes:
    """Write rows as RFC 4180 has it, by an independent writer."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=line_end).writerows(rows)
    return text.getvalue().encode()


def shard_of(folder: Path, content: bytes, name: str = "a.csv") -> Shard:
    return write_shard(folder, name, content)


@BOTH_WAYS
@pytest.mark.parametrize("block_bytes", [1, 2, 7, 30, 1 << 17])
@pytest.mark.parametrize(
    "content",
    [
        b"id,text\n0,zero\n1,one\n2,two\n",
        b"id,text\r\n0,zero\r\n1,one\r\n2,two",
        b"\xef\xbb\xbfid,text\n0,zero\n1,one\n2,two\r\n",
        b'"id","text"\n"0","zero"\n1,"one"\n2,two\n',
    ],
)
def test_each_line_behind_the_header_is_a_record(
    tmp_path: Path, content: bytes, block_bytes: int, *, quoted_newlines: bool
) -> None:
    shard = shard_of(tmp_path, content)
    shard_format = CsvFormat(block_bytes=block_bytes, quoted_newlines=quoted_newlines)
    assert read_all(shard_format, [shard]) == [
        {"id": "0", "text": "zero"},
        {"id": "1", "text": "one"},
        {"id": "2", "text": "two"},
    ]
    counts, lengths = counts_and_lengths(shard_format, [shard])
    assert counts == lengths
    assert sum(counts) == 3


@BOTH_WAYS
def test_values_are_text_as_it_stands(tmp_path: Path, *, quoted_newlines: bool) -> None:
    rows = [["a", "b", "c"], ["", "NA", "null"], ["1.50", " x ", '"'], ["a,b", '""', "\ufeffü"]]
    shard = shard_of(tmp_path, written([*rows, ["\ufeff", "", ""]]))
    read = read_all(CsvFormat(block_bytes=1, quoted_newlines=quoted_newlines), [shard], "arrow")
    assert [list(row.values()) for row in read.to_pylist()] == [*rows[1:], ["\ufeff", "", ""]]


@pytest.mark.parametrize("block_bytes", [1, 5, 20, 1 << 17])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_quoted_newlines_are_part_of_fields_when_declared(
    tmp_path: Path, block_bytes: int, line_end: str
) -> None:
    rows = [
        ["first\nline", "text"],
        ["0", "one\ntwo"],
        ["\n", "\r\n"],
        ["2", 'say "yes"\n\n"no"'],
        ["3", "plain"],
        ["4", "a\r\nb"],
    ]
    shard = shard_of(tmp_path, written(rows, line_end))
    shard_format = CsvFormat(block_bytes=block_bytes, quoted_newlines=True)
    read = read_all(shard_format, [shard])
    assert [list(row.values()) for row in read] == rows[1:]
    assert list(read[0]) == rows[0]
    counts, lengths = counts_and_lengths(shard_format, [shard])
    assert counts == lengths
    assert sum(counts) == 5


@BOTH_WAYS
def test_a_quoted_carriage_return_is_part_of_its_field(
    tmp_path: Path, *, quoted_newlines: bool
) -> None:
    shard = shard_of(tmp_path, HEADER + b'0,"a\rb"\n1,"\r"\n')
    shard_format = CsvFormat(block_bytes=100, quoted_newlines=quoted_newlines)
    assert [row["text"] for row in read_all(shard_format, [shard])] == ["a\rb", "\r"]


def test_blocks_with_quoted_newlines_start_with_records(tmp_path: Path) -> None:
    shard = shard_of(tmp_path, HEADER + b'0,"a\nb\nc"\n1,x\n2,y\n3,"\n"\n')
    index = CsvFormat(block_bytes=6, quoted_newlines=True).index(shard, count=False)
    # Records start at 8, 18, 22 and 26; 8 + 6 n lies before 18 at 14 and before 26 at 26.
    assert index.bounds.tolist() == [8, 18, 22, 26, 32]
    assert index.counts is not None
    assert index.counts.tolist() == [1, 1, 1, 1]
    assert index.sizes is not None
    assert index.sizes.tolist() == [10, 4, 4, 6]
    index = CsvFormat(block_bytes=12, quoted_newlines=True).index(shard, count=False)
    assert index.bounds.tolist() == [8, 22, 32]


def test_a_quoted_newline_that_is_not_declared_is_refused_by_place(tmp_path: Path) -> None:
    shard = shard_of(tmp_path, HEADER + b'0,x\n1,"a\nb"\n2,y\n')
    for block_bytes in (1, 1 << 17):
        with pytest.raises(RecordError, match=r"^a\.csv, line 3: a quoted field goes on behind"):
            read_all(CsvFormat(block_bytes=block_bytes), [shard])


def test_a_quote_that_is_never_closed_is_refused_by_place(tmp_path: Path) -> None:
    shard = shard_of(tmp_path, HEADER + b'0,x\n1,"a\nb\n2,y\n')
    with pytest.raises(RecordError, match=r"^a\.csv, line 3: a quoted field of this record has no"):
        CsvFormat(block_bytes=1, quoted_newlines=True).index(shard, count=True)
    with pytest.raises(RecordError, match=r"^a\.csv, line 3: a quoted field goes on behind"):
        read_all(CsvFormat(block_bytes=100), [shard])


@BOTH_WAYS
@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"7", "1 fields where the header names 2"),
        (b"7,a,b", "3 fields where the header names 2"),
        (b"", "an empty line instead of 2 fields"),
        (b"7,a\xff", "not readable .*Write the shard in UTF-8"),
        (b"7,a\xc3", "not readable .*Write the shard in UTF-8"),
        (b"7,a\xff,b", "3 fields where the header names 2"),
        (b"7,a\rb", "a carriage return inside the record"),
        (b"7,a\r8,b", "a carriage return inside the record"),
    ],
)
def test_a_bad_record_is_refused_by_place(
    tmp_path: Path, line: bytes, problem: str, *, quoted_newlines: bool
) -> None:
    first = shard_of(tmp_path, HEADER + b"0,a\n" * 10)
    content = HEADER + b'0,"a"\n' * 5 + line + b"\n" + b"1,b\n" * 5
    bad = shard_of(tmp_path, content, "b.csv")
    shard_format = CsvFormat(block_bytes=9, quoted_newlines=quoted_newlines)
    with pytest.raises(RecordError, match=rf"^b\.csv, line 7: .*({problem})"):
        read_all(shard_format, [first, bad])


def test_an_empty_line_of_one_column_is_an_empty_field(tmp_path: Path) -> None:
    shard = shard_of(tmp_path, b"text\na\n\nb\n")
    assert read_all(CsvFormat(block_bytes=1), [shard], "str") == ["a", "", "b"]


def test_only_the_chosen_columns_come_in_their_order(tmp_path: Path) -> None:
    shard = shard_of(tmp_path, b"a,b,c\n0,1,2\n3,4,5\n")
    chosen = CsvFormat(block_bytes=1, columns=("c", "a"))
    assert read_all(chosen, [shard], "arrow").column_names == ["c", "a"]
    assert read_all(chosen, [shard])[1] == {"c": "5", "a": "3"}
    packed = read_all(CsvFormat(block_bytes=1, columns=("b",)), [shard], "packed")
    assert packed.content.tobytes() == b"14"
    with pytest.raises(ValueError, match="at least one column"):
        CsvFormat(block_bytes=1, columns=())


def test_a_header_without_a_chosen_column_is_refused(tmp_path: Path) -> None:
    shard = shard_of(tmp_path, b"a,b\n0,1\n")
    with pytest.raises(RecordError, match=r"a\.csv has no column 'label'; it has a, b"):
        CsvFormat(block_bytes=1, columns=("label",)).index(shard, count=True)


@pytest.mark.parametrize("header", [b"id\n", b"text,id\n", b"0,zero\n", b"id,text,more\n"])
def test_another_header_is_refused_by_name(tmp_path: Path, header: bytes) -> None:
    shard_format = CsvFormat(block_bytes=1)
    shard_format.index(shard_of(tmp_path, HEADER + b"0,zero\n"), count=True)
    other = shard_of(tmp_path, header + b"1,one\n", "b.csv")
    with pytest.raises(RecordError, match=r"b\.csv has the columns .*, but a\.csv has id, text"):
        shard_format.index(other, count=True)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"a,a\n0,1\n", "the name 'a' twice"),
        (b"\n0,1\n", "CSV parse error: Empty"),
        (b'"a,b\n0,1\n', "no end of the first line"),
        (b"\xff,b\n0,1\n", "invalid UTF8"),
        (b"a" * (1 << 21), "no end of the first line"),
    ],
)
def test_what_is_no_header_is_refused_by_name(tmp_path: Path, content: bytes, found: str) -> None:
    with pytest.raises(RecordError, match=rf"^a\.csv: its first line should name .*({found})"):
        CsvFormat(block_bytes=1).index(shard_of(tmp_path, content), count=True)


@BOTH_WAYS
@pytest.mark.parametrize("content", [b"id,text", HEADER])
def test_a_header_alone_is_a_shard_without_records(
    tmp_path: Path, content: bytes, *, quoted_newlines: bool
) -> None:
    shard = shard_of(tmp_path, content)
    shard_format = CsvFormat(block_bytes=1, quoted_newlines=quoted_newlines)
    index = shard_format.index(shard, count=True)
    assert index.bounds.tolist() == [shard.size_bytes]
    assert index.counts is not None
    assert index.counts.tolist() == []
    assert read_all(shard_format, [shard]) == []


def test_without_counting_only_the_header_is_read(tmp_path: Path) -> None:
    shard = shard_of(tmp_path, HEADER + b'0,"never closed\n' * 100)
    index = CsvFormat(block_bytes=50).index(shard, count=False)
    assert index.counts is None
    counted = CsvFormat(block_bytes=50).index(shard, count=True)
    assert counted.bounds.tolist() == index.bounds.tolist()
    assert counted.counts is not None
    assert counted.counts.sum() == 100


def test_records_come_as_taken(tmp_path: Path) -> None:
    shards = [
        shard_of(tmp_path, HEADER + b'0,"x\ny"\n1,b\n2,c\n'),
        shard_of(tmp_path, HEADER + b"3,d\n4,e\n", "b.csv"),
    ]
    shard_format = CsvFormat(block_bytes=4, quoted_newlines=True)
    records = shard_format.read(blocks_of(shard_format, shards))
    rows = records.take(np.array([4, 0, 2]))
    assert [row["id"] for row in rows.output("records")] == ["4", "0", "2"]
    places = [rows.locate(index) for index in range(3)]
    assert places == ["b.csv, line 3", "a.csv, line 2", "a.csv, line 5"]
    assert rows.slice(1, 2).locate(0) == "a.csv, line 2"


def test_records_longer_than_any_buffer_are_whole(tmp_path: Path) -> None:
    rows = [["id", "text"], *([str(n), "é" * (n * 40_000)] for n in range(6))]
    shard = shard_of(tmp_path, written(rows))
    for quoted_newlines in (False, True):
        shard_format = CsvFormat(block_bytes=1000, quoted_newlines=quoted_newlines)
        read = read_all(shard_format, [shard])
        assert [list(row.values()) for row in read] == rows[1:]


@BOTH_WAYS
def test_a_file_that_shrank_is_refused(tmp_path: Path, *, quoted_newlines: bool) -> None:
    shard = shard_of(tmp_path, HEADER + b"0,zero\n" * 100)
    shard_format = CsvFormat(block_bytes=50, quoted_newlines=quoted_newlines)
    blocks = blocks_of(shard_format, [shard])
    cut_short(shard, 300)
    with pytest.raises(RecordError, match=r"a\.csv changed after the shards were listed"):
        shard_format.read(blocks)
    with pytest.raises(RecordError, match=r"a\.csv changed after the shards were listed"):
        shard_format.index(shard, count=True)


def test_the_registry_makes_it_with_its_settings(tmp_path: Path) -> None:
    shard = shard_of(tmp_path, HEADER + b'0,"a\nb"\n')
    settings = FormatSettings(block_bytes=3, columns=("text",), quoted_newlines=True)
    made = make_format("csv", settings)
    assert made.name == "csv"
    assert read_all(made, [shard], "str") == ["a\nb"]
