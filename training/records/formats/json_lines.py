"""JSON Lines: one JSON object per line, UTF-8; whatever else a line holds is refused by place."""

import json
import re
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from training.records.errors import RecordError
from training.records.formats.line_blocks import index_lines
from training.records.formats.line_reader import LineReader
from training.records.formats.lines import LineRecords, LineRows
from training.records.formats.protocol import BlockRef, FormatSettings, ShardIndex
from training.records.packed import pack
from training.records.shards import Shard

_OPENING, _CLOSING = b"{}"
# Not pa.scalar: it imports pandas, where that is installed.
_NOTHING, _LINE_END = pa.Array.from_buffers(
    pa.large_binary(), 2, [None, pa.py_buffer(np.array([0, 0, 1])), pa.py_buffer(b"\n")]
)

_CONSTANT = re.compile(rb"[:,\[]\s*-?(?:NaN|Inf)")
"""What Arrow takes for a number and JSON does not know, where a value may stand."""

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
"""One half of an escaped surrogate pair, whether or not the other one is there."""

EXCERPT_CHARACTERS = 60
"""Characters of a bad line that its message shows."""


class JsonLinesFormat:
    """Lines of JSON."""

    name = "json_lines"
    outputs = ("records", "arrow", "str", "bytes", "packed")
    columns = None

    def __init__(self, *, block_bytes: int) -> None:
        """Set the bytes of a block, 1 or more."""
        self._block_bytes = block_bytes
        self._reader = LineReader()

    def index(self, shard: Shard, *, count: bool) -> ShardIndex:
        """Cut a shard into ranges of bytes; see ShardFormat."""
        return index_lines(shard, self._block_bytes, count=count)

    def read(self, blocks: Sequence[BlockRef]) -> LineRecords:
        """Read some blocks; see ShardFormat."""
        return LineRecords(self._reader.read(blocks), JsonRows, "strict")


def make(_: str, settings: FormatSettings) -> JsonLinesFormat:
    """Make the format; see the registry."""
    return JsonLinesFormat(block_bytes=settings.block_bytes)


class JsonRows(LineRows):
    """Lines of JSON. As "str", "bytes" and "packed" they are handed out unparsed."""

    __slots__ = ()

    def output(self, kind: str) -> Any:  # noqa: ANN401 - by kind, see Rows
        """Return the lines as any of the format's outputs."""
        if kind == "records":
            return self.records()
        if kind == "arrow":
            return self.table()
        if kind == "str":
            return self.strings()
        return super().output(kind)

    def records(self) -> list[dict[str, Any]]:
        """Parse each line.

        Raises:
            RecordError: A line is not one JSON object; the message names shard and line number.
        """
        return [self._parse(index, content) for index, content in enumerate(self.array.to_pylist())]

    def _parse(self, index: int, content: bytes) -> dict[str, Any]:
        try:
            return parse(content)
        except RecordError as error:
            raise RecordError(f"{self.locate(index)}: {error}") from error.__cause__

    def table(self) -> pa.Table:
        """Parse all lines into columns, whose types are those of the values that occur.

        Raises:
            RecordError: A line is not one JSON object, or the values of one column are of several
                types; the message names shard and line number.
        """
        if not len(self):
            return pa.table({})
        # Imported here: most jobs do without.
        from pyarrow import json as arrow_json  # noqa: PLC0415

        content = pack(pc.binary_join_element_wise(self.array, _NOTHING, _LINE_END)).content
        options = arrow_json.ReadOptions(use_threads=False, block_size=len(content))
        try:
            table = arrow_json.read_json(pa.BufferReader(pa.py_buffer(content)), options)
        except pa.ArrowException as error:
            self.records()
            raise self._no_table(error) from error
        if len(table) != len(self) or self._is_doubtful():
            self.records()
        return table

    def _is_doubtful(self) -> bool:
        """Whether Arrow may have taken what is not one JSON object per line.

        It passes over empty lines and takes several objects of one line as several records; the
        two could make up for each other. When every line begins and ends with a brace, each holds
        at least one object, and as many records as lines mean that each holds one. Arrow also
        takes NaN and the infinities for numbers, and does not look whether text is UTF-8.
        """
        lines = pack(self.array)
        if not np.diff(lines.offsets).all():
            return True
        first, last = lines.content[lines.offsets[:-1]], lines.content[lines.offsets[1:] - 1]
        if (first != _OPENING).any() or (last != _CLOSING).any():
            return True
        content = lines.content.tobytes()
        if (b"NaN" in content or b"Inf" in content) and _CONSTANT.search(content):
            return True
        try:
            self.array.cast(pa.large_string())
        except pa.ArrowInvalid:
            return True
        return False

    def _no_table(self, error: pa.ArrowException) -> RecordError:
        """Make the error for lines that are records each, but not of the same columns."""
        found = re.search(r" in row (\d+)", str(error))
        place = (
            self.locate(int(found[1]))
            if found
            else f"{len(self)} lines, the first of them {self.locate(0)}"
        )
        return RecordError(
            f"{place}: {error}. As columns, a field must have values of one type in all records."
            ' Mend the records or take them as output="records".'
        )


def parse(content: bytes) -> dict[str, Any]:
    """Parse one line.

    Raises:
        RecordError: It is not one JSON object.
    """
    try:
        record = _decoder.decode(content.decode())
    except UnicodeDecodeError as error:
        raise _refused(
            content, f"byte {error.start + 1} of the line is not UTF-8 ({error.reason})"
        ) from error
    except json.JSONDecodeError as error:
        raise _refused(content, _syntax(content, error)) from error
    except ValueError as error:
        raise _refused(content, f"not valid JSON ({error})") from error
    except RecursionError as error:
        raise _refused(content, "not readable JSON: nested too deeply") from error
    if not isinstance(record, dict):
        raise _refused(content, f"{_kind(record)}, not a JSON object")
    if b"\\u" in content and _SURROGATE.search(content):
        _check_surrogates(content, record)
    return record


def _refuse_constant(name: str) -> NoReturn:
    """Refuse what Python's decoder takes and JSON does not know: NaN and the infinities."""
    raise ValueError(f"{name} is no JSON number")


_decoder = json.JSONDecoder(parse_constant=_refuse_constant)


def _check_surrogates(content: bytes, record: dict[str, Any]) -> None:
    r"""Refuse half an escaped surrogate pair (a lone "\ud83d"): no text holds it.

    Raises:
        RecordError: There is one.
    """
    try:
        json.dumps(record, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise _refused(
            content, "half of an escaped surrogate pair, which is no character"
        ) from error


def _syntax(content: bytes, error: json.JSONDecodeError) -> str:
    if not content.strip():
        return "an empty line"
    return f"not valid JSON ({error.msg} at character {error.pos + 1} of the line)"


def _kind(value: object) -> str:
    names = {list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def _refused(content: bytes, problem: str) -> RecordError:
    text = content.decode(errors="replace").strip()
    excerpt = text[:EXCERPT_CHARACTERS] + ("..." if len(text) > EXCERPT_CHARACTERS else "")
    shown = f": {excerpt!r}" if excerpt else ""
    return RecordError(
        f"{problem}{shown}. Each line must be one JSON object in UTF-8 such as"
        ' {"text": "hello", "label": 0}, ended by a newline. Mend or remove the line.'
    )
