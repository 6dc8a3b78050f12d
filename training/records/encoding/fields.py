"""Fields of packed JSON Lines as columns, without a Python object per record.

Arrow's parser is fast and takes more than one JSON object per line: several of them, or one over
several lines; NaN; bytes that are not UTF-8; numbers and nesting of any size. So what it has parsed
counts only where nothing of that kind can have occurred. Everything else is left to the parser of
single records, which knows what is wrong and where.
"""

import re
from collections.abc import Mapping
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from training.records.packed import Packed, pack

_OPENING, _CLOSING = b"{}"

_MAX_BYTES: Final = 1 << 30
"""Arrow's parser takes less than 2**31 at once."""

_CONSTANTS: Final = (
    (b"NaN", re.compile(rb"NaN[ \t\r\n]*[,}\]]")),
    (b"Inf", re.compile(rb"Inf(?:inity)?[ \t\r\n]*[,}\]]")),
)
"""What Arrow takes for a number and JSON does not know, as it begins and as it stands for a value.
Texts may hold the latter, too, but rarely do."""

_DIGITS: Final = 320
"""Python limits the digits of integers, to no less than 640; so many are far fewer."""

_NESTING: Final = 500
"""Python limits nesting, to some hundreds at least; fewer brackets cannot nest more deeply."""


def read_fields(lines: Packed, types: Mapping[str, pa.DataType]) -> pa.Table | None:
    """Parse some fields of packed JSON Lines.

    Args:
        lines: One JSON object each, without newlines at their ends.
        types: Of the fields that are wanted, `pa.string()` or `pa.int64()`; others are skipped.

    Returns:
        One row per line, without nulls; None where a line is not one JSON object, lacks a field or
        has another type of it, or where only a parser of single records can tell.
    """
    if not len(lines) or len(lines.content) > _MAX_BYTES or not _is_an_object_each(lines):
        return None
    text = _with_newlines(lines)
    if _is_doubtful(lines, text):
        return None
    # Imported here: who reads no JSON Lines does without.
    from pyarrow import json as arrow_json  # noqa: PLC0415

    try:
        table = arrow_json.read_json(
            pa.BufferReader(text),
            read_options=arrow_json.ReadOptions(use_threads=False, block_size=len(text) + 1),
            parse_options=arrow_json.ParseOptions(
                explicit_schema=pa.schema(list(types.items())),
                unexpected_field_behavior="ignore",
            ),
        )
    except pa.ArrowException:
        return None
    is_whole = len(table) == len(lines) and not any(column.null_count for column in table.columns)
    return table if is_whole else None


def _is_an_object_each(lines: Packed) -> bool:
    """Whether every line begins and ends with a brace.

    Where one line ends with a brace and the next begins with one, the first brace closes an object
    that is in no other: so each line holds whole objects, and as many as lines means one each.
    """
    if np.diff(lines.offsets).min() <= 0:
        return False
    first, last = lines.content[lines.offsets[:-1]], lines.content[lines.offsets[1:] - 1]
    return bool((first == _OPENING).all() and (last == _CLOSING).all())


def _with_newlines(lines: Packed) -> bytes:
    array = pa.Array.from_buffers(
        pa.large_binary(),
        len(lines),
        [None, pa.py_buffer(lines.offsets), pa.py_buffer(lines.content)],
    )
    nothing, newline = (pa.scalar(end, pa.large_binary()) for end in (b"", b"\n"))
    return pack(pc.binary_join_element_wise(array, nothing, newline)).content.tobytes()


def _is_doubtful(lines: Packed, text: bytes) -> bool:
    return not _is_text(text) or _has_constant(lines) or _has_long_number(lines) or _is_deep(lines)


def _is_text(text: bytes) -> bool:
    """Whether it is UTF-8; every line ends and begins with ASCII, so together is each."""
    array = pa.Array.from_buffers(
        pa.large_string(),
        1,
        [None, pa.py_buffer(np.array([0, len(text)], np.int64)), pa.py_buffer(text)],
    )
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _has_constant(lines: Packed) -> bool:
    content = lines.content
    for begin, constant in _CONSTANTS:
        # Faster than to find one after the other. What is found has a byte behind it: a brace.
        at = np.flatnonzero((content[:-1] == begin[0]) & (content[1:] == begin[1]))
        at = at[content[at + 2] == begin[2]]
        if any(constant.match(content.data, start) for start in at.tolist()):
            return True
    return False


def _has_long_number(lines: Packed) -> bool:
    """Whether some 640 digits follow each other: a run of them fills one stretch of 320."""
    stretches = len(lines.content) // _DIGITS
    content = lines.content[: stretches * _DIGITS].reshape(stretches, _DIGITS)
    begins = np.flatnonzero(_is_digit(content[:, 0]))
    return bool(_is_digit(content[begins]).all(axis=1).any())


def _is_digit(content: NDArray[np.uint8]) -> NDArray[np.bool_]:
    return content - np.uint8(ord("0")) < np.uint8(10)


def _is_deep(lines: Packed) -> bool:
    """Whether a line has so many opening brackets that its nesting could be too deep."""
    is_opening = lines.content | np.uint8(0x20) == _OPENING  # "[" and "{" differ in one bit
    if np.count_nonzero(is_opening) < len(lines) + _NESTING:
        return False
    openings = np.searchsorted(np.flatnonzero(is_opening), lines.offsets)
    return bool(np.diff(openings).max() > _NESTING)
