"""JSON Lines: one JSON object per line, UTF-8; whatever else a line holds is refused by place."""

import json
from typing import Any, NoReturn

from training.records.errors import RecordError
from training.records.reading import locate
from training.records.windows import Line

EXCERPT_CHARACTERS = 60
"""Characters of a bad line that its message shows."""


def parse(line: Line) -> dict[str, Any]:
    """Parse one line.

    Raises:
        RecordError: It is not one JSON object; the message names shard and line number.
    """
    try:
        record = _decoder.decode(line.content.decode())
    except UnicodeDecodeError as error:
        raise _refused(
            line, f"byte {error.start + 1} of the line is not UTF-8 ({error.reason})"
        ) from error
    except json.JSONDecodeError as error:
        raise _refused(line, _syntax(line, error)) from error
    except ValueError as error:
        raise _refused(line, f"not valid JSON ({error})") from error
    except RecursionError as error:
        raise _refused(line, "not readable JSON: nested too deeply") from error
    if not isinstance(record, dict):
        raise _refused(line, f"{_kind(record)}, not a JSON object")
    if b"\\u" in line.content:
        _check_surrogates(line, record)
    return record


def _refuse_constant(name: str) -> NoReturn:
    """Refuse what Python's decoder takes and JSON does not know: NaN and the infinities."""
    raise ValueError(f"{name} is no JSON number")


_decoder = json.JSONDecoder(parse_constant=_refuse_constant)


def _check_surrogates(line: Line, record: dict[str, Any]) -> None:
    r"""Refuse half an escaped surrogate pair (a lone "\ud83d"): no text holds it.

    Raises:
        RecordError: There is one.
    """
    try:
        json.dumps(record, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise _refused(line, "half of an escaped surrogate pair, which is no character") from error


def _syntax(line: Line, error: json.JSONDecodeError) -> str:
    if not line.content.strip():
        return "an empty line"
    return f"not valid JSON ({error.msg} at character {error.pos + 1} of the line)"


def _kind(value: object) -> str:
    names = {list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def _refused(line: Line, problem: str) -> RecordError:
    text = line.content.decode(errors="replace").strip()
    excerpt = text[:EXCERPT_CHARACTERS] + ("..." if len(text) > EXCERPT_CHARACTERS else "")
    shown = f": {excerpt!r}" if excerpt else ""
    return RecordError(
        f"{locate(line.shard, line.offset_bytes)}: {problem}{shown}. Each line must be one JSON"
        ' object in UTF-8 such as {"text": "hello", "label": 0}, ended by a newline. Mend or remove'
        " the line."
    )
