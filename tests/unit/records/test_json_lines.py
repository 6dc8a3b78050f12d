import json
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from training.records import RecordError, Shard
from training.records.formats.json_lines import make
from training.records.formats.protocol import BlockRef, FormatSettings


@pytest.fixture
def parsed(tmp_path: Path) -> Any:  # noqa: ANN401 - a function of the tests below
    def parse_second_line(content: bytes) -> dict[str, Any]:
        path = tmp_path / "part.jsonl"
        path.write_bytes(b"{}\n" + content + b"\n{}\n")
        shard = Shard(name="part.jsonl", path=path, size_bytes=path.stat().st_size)
        block = BlockRef(shard, 0, shard.size_bytes)
        records = make("json_lines", FormatSettings()).read([block])
        return cast("dict[str, Any]", records.take(np.array([1])).output("records")[0])

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
