import json
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from training.records import LoaderSettings, RecordError, RecordLoader, Shard, epoch, find_shards
from training.records.formats.json_lines import JsonRows, make
from training.records.formats.protocol import BlockRef, FormatSettings, Rows


def _rows(folder: Path, lines: list[bytes]) -> Rows:
    """Return lines as rows, in their order."""
    path = folder / "part.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    shard = Shard(name="part.jsonl", path=path, size_bytes=path.stat().st_size)
    records = make("json_lines", FormatSettings()).read([BlockRef(shard, 0, shard.size_bytes)])
    return records.take(np.arange(len(lines)))


@pytest.fixture
def parsed(tmp_path: Path) -> Any:  # noqa: ANN401 - a function of the tests below
    def parse_second_line(content: bytes) -> dict[str, Any]:
        return cast("dict[str, Any]", _rows(tmp_path, [b"{}", content, b"{}"]).output("records")[1])

    return parse_second_line


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"text": "a\u2028b\u0085c\r\n\t\0\U0001f600é", "label": 1},
        {"deep": [[[{"x": None}]]], "float": 0.1, "big": 10**30, "flag": True},
        {"text": "\\ud83d is only text here"},
    ],
)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_parses_any_object(parsed: Any, record: Any, ascii_only: bool) -> None:  # noqa: ANN401, FBT001 - drawn
    assert parsed(json.dumps(record, ensure_ascii=ascii_only).encode()) == record


def test_white_space_around_an_object_is_no_matter(parsed: Any) -> None:  # noqa: ANN401 - above
    assert parsed(b' \t{"a": 1} \r') == {"a": 1}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "an empty line"),
        (b"  \t\r", "an empty line"),
        (b"hello", "not valid JSON (Expecting value at character 1 of the line): 'hello'"),
        (b'{"a": 1', "not valid JSON (Expecting ',' delimiter at character 8 of the line)"),
        (b"{'a': 1}", "not valid JSON (Expecting property name"),
        (b'{"a": 1}{"a": 2}', "not valid JSON (Extra data at character 9 of the line)"),
        (b'{"a": NaN}', "not valid JSON (NaN is no JSON number)"),
        (b'{"a": -Infinity}', "not valid JSON (-Infinity is no JSON number)"),
        (b'{"a": ' + b"9" * 5000 + b"}", "not valid JSON (Exceeds the limit"),
        (b'\xef\xbb\xbf{"a": 1}', "not valid JSON (Expecting value at character 1"),
        (b"[" * 200_000, "not readable JSON: nested too deeply"),
        (b'["a", 1]', "a list, not a JSON object"),
        (b'"text"', "a string, not a JSON object"),
        (b"17", "a number, not a JSON object"),
        (b"1.5", "a number, not a JSON object"),
        (b"true", "a boolean, not a JSON object"),
        (b"null", "null, not a JSON object"),
        (b'{"a": "\xc3"}', "byte 8 of the line is not UTF-8"),
        ('{"a": "é"}'.encode("latin-1"), "byte 8 of the line is not UTF-8"),
        ('{"a": 1}'.encode("utf-16"), "byte 1 of the line is not UTF-8"),
        (b'{"a": "\\uD83d"}', "half of an escaped surrogate pair"),
        (b'{"a": [{"\\udc00": 1}]}', "half of an escaped surrogate pair"),
    ],
)
def test_refuses_anything_else_by_shard_and_line(
    parsed: Any,  # noqa: ANN401 - above
    content: bytes,
    problem: str,
) -> None:
    with pytest.raises(RecordError) as caught:
        parsed(content)
    message = str(caught.value)
    assert message.startswith(f"part.jsonl, line 2: {problem}")
    assert message.endswith("Mend or remove the line.")
    assert len(message) < 400


def test_a_long_line_is_shown_in_part(parsed: Any) -> None:  # noqa: ANN401 - above
    with pytest.raises(RecordError) as caught:
        parsed(b"x" * 10_000)
    assert f"{'x' * 60}...'" in str(caught.value)


def test_columns_hold_what_records_hold(tmp_path: Path) -> None:
    records = [{"text": f"é\u2028 {n}", "label": n % 2, "deep": {"x": [n]}} for n in range(100)]
    rows = _rows(tmp_path, [json.dumps(record).encode() for record in records])
    table = rows.output("arrow")
    assert table.to_pylist() == records == rows.output("records")
    assert table.slice(3, 5).to_pylist() == rows.slice(3, 8).output("arrow").to_pylist()


def test_white_space_around_objects_is_no_matter_to_columns(tmp_path: Path) -> None:
    rows = _rows(tmp_path, [b' {"a": 1}', b'{"a": 2} \t', b'{"a": 3}\r'])
    assert rows.output("arrow").to_pylist() == [{"a": 1}, {"a": 2}, {"a": 3}]


def test_no_rows_make_a_table_too(tmp_path: Path) -> None:
    assert len(_rows(tmp_path, [b"{}"]).slice(0, 0).output("arrow")) == 0


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b" ",
        b"hello",
        b'{"a": 1',
        b'{"a": 1}{"a": 2}',
        b'{"a": NaN}',
        b'{"a": -Infinity}',
        b'{"a":[0,Inf]}',
        b'{"a": [NaN]}',
        b"[1]",
        b"17",
        b"null",
        b'{"a": "\xe9"}',
        b'{"a": "\\ud83d"}',
        b'\xef\xbb\xbf{"a": 1}',
    ],
)
def test_columns_are_as_strict_as_records(tmp_path: Path, bad: bytes) -> None:
    rows = _rows(tmp_path, [b'{"a": 1}', b'{"a": 2}', bad, b'{"a": 3}'])
    with pytest.raises(RecordError) as strict:
        rows.output("records")
    with pytest.raises(RecordError) as columns:
        rows.output("arrow")
    assert str(columns.value) == str(strict.value)
    assert str(columns.value).startswith("part.jsonl, line 3: ")


def test_bad_lines_that_make_up_for_each_other_are_noticed(tmp_path: Path) -> None:
    # Arrow makes two records of one of them and none of the other.
    rows = _rows(tmp_path, [b'{"a": 1}{"a": 2}', b"", b'{"a": 3}'])
    with pytest.raises(RecordError, match=r"^part\.jsonl, line 1: not valid JSON \(Extra data"):
        rows.output("arrow")
    rows = _rows(tmp_path, [b'{"a":', b"1}", b'{"a": 2} {"a": 3}'])
    with pytest.raises(RecordError, match=r"^part\.jsonl, line 1: not valid JSON"):
        rows.output("arrow")


def test_columns_of_several_types_are_refused_by_place(tmp_path: Path) -> None:
    rows = _rows(tmp_path, [b'{"a": 1}', b'{"a": 2}', b'{"a": "three"}'])
    assert len(rows.output("records")) == 3
    with pytest.raises(RecordError, match=r"^part\.jsonl, line 3: .*from number to string"):
        rows.output("arrow")


def test_records_without_a_field_are_rows_too(tmp_path: Path) -> None:
    table = _rows(tmp_path, [b"{}", b"{}"]).output("arrow")
    assert (len(table), table.to_pylist()) == (2, [{}, {}])
    assert len(table.slice(1, 1)) == 1
    table = _rows(tmp_path, [b"{}", b'{"a": 1}']).output("arrow")
    assert table.to_pylist() == [{"a": None}, {"a": 1}]


def test_columns_that_change_between_chunks_are_refused_by_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(epoch, "CHUNK_RECORDS", 2)
    lines = [b'{"a": 1}', b'{"a": 2}', b'{"a": "x"}', b'{"a": "y"}']
    for number, line in enumerate(lines):
        (tmp_path / f"{number}.jsonl").write_bytes(line)
    # Windows of one block each, so a batch is of several chunks.
    settings = LoaderSettings(batch_size=3, seed=0, shuffle=False, window_blocks=1, output="arrow")
    loader = RecordLoader(find_shards(tmp_path), settings=settings, part=0, parts=1)
    with pytest.raises(RecordError, match=r"^0\.jsonl, line 1, 1\.jsonl, line 1, 2\.jsonl, "):
        list(loader.epoch(0))


def test_words_that_look_like_numbers_are_not_parsed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = _rows(tmp_path, [b'{"a": "Information on NaNas"}', b'{"a": "Inf"}'])
    monkeypatch.setattr(JsonRows, "records", lambda _: pytest.fail("parsed again"))
    assert rows.output("arrow").column("a").to_pylist() == ["Information on NaNas", "Inf"]
