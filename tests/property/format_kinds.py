"""Shards of every format as the tests write them, and what they read back."""

import gzip
import io
import json
import tarfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import strategies as st

from tests.property.shard_files import TEXTS
from training.records import Batch

TextRecord = tuple[str, str]
"""What each record is made of, whatever the format: an id and a text."""


@dataclass(frozen=True)
class WrittenAs:
    """Free choices of whoever writes a shard."""

    choice: int
    """0, 1 or 2; each format makes of it what it likes."""
    mark: bool
    """Such as a byte order mark, or whatever else the format may have or not."""


@dataclass(frozen=True)
class Kind:
    """A format as the tests write and read it."""

    ending: str
    write: Callable[[Sequence[TextRecord], WrittenAs], bytes]
    records: Callable[[Batch], list[TextRecord]]
    texts: st.SearchStrategy[str] = TEXTS
    fixed: tuple[tuple[str, Any], ...] = ()
    """Settings of the loader."""


def _csv(records: Sequence[TextRecord], written: WrittenAs) -> bytes:
    line_end = ("\n", "\r\n", "\n")[written.choice]

    def field(text: str) -> str:
        plain = not set(text) & set(',"\r\n') and written.choice
        return text if plain else '"' + text.replace('"', '""') + '"'

    lines = ["id,text", *(f"{field(name)},{field(text)}" for name, text in records)]
    content = line_end.join(lines) + line_end * written.mark
    return ("\ufeff" * written.mark + content).encode()


def _parquet(records: Sequence[TextRecord], written: WrittenAs) -> bytes:
    columns = {
        "id": pa.array([name for name, _ in records], pa.string()),
        "text": pa.array([text for _, text in records], pa.string()),
    }
    sink = pa.BufferOutputStream()
    pq.write_table(
        pa.table(columns),
        sink,
        row_group_size=written.choice + 1,
        use_dictionary=written.mark,
        compression=("none", "zstd", "snappy")[written.choice],
    )
    return bytes(sink.getvalue())


def _tar(records: Sequence[TextRecord], written: WrittenAs) -> bytes:
    kind = (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)[written.choice]
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w", format=kind) as archive:
        for number, (name, text) in enumerate(records):
            # Long keys need extensions, which ustar lacks; endings are all that samples share.
            folder = (
                "" if not written.mark else "é/" if written.choice == 0 else "f" * number * 9 + "/"
            )
            members = [("ID", name), ("text.u8", text), ("x", "")]
            for ending, content in members[: 2 + number % 2]:
                info = tarfile.TarInfo(f"{folder}{number}.{ending}")
                encoded = content.encode()
                info.size = len(encoded)
                info.mtime = number / 2
                archive.addfile(info, io.BytesIO(encoded))
    return sink.getvalue()


def _lines(records: Sequence[TextRecord], written: WrittenAs) -> bytes:
    line_end = ("\n", "\r\n", "\n")[written.choice]
    content = line_end.join(f"{name} {text}" for name, text in records)
    return (
        ("\ufeff" * written.mark + content + line_end * written.mark).encode() if records else b""
    )


def _json_lines(records: Sequence[TextRecord], written: WrittenAs) -> bytes:
    lines = [
        json.dumps({"id": name, "text": text}, ensure_ascii=written.mark) for name, text in records
    ]
    return "".join(line + "\n" for line in lines).encode()


def _zstd(text: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(text)
    return bytes(sink.getvalue())


def _of_columns(batch: Batch) -> list[TextRecord]:
    return [(record["id"], record["text"]) for record in batch.records]


def _of_samples(batch: Batch) -> list[TextRecord]:
    return [(sample["id"].decode(), sample["text.u8"].decode()) for sample in batch.records]


def _of_lines(batch: Batch) -> list[TextRecord]:
    lines: list[str] = batch.data
    return [(name, text) for name, _, text in (line.partition(" ") for line in lines)]


# What one line can hold: no newline, and no carriage return at its end.
ONE_LINE = TEXTS.map(lambda text: text.replace("\n", "").rstrip("\r"))

KINDS = {
    "csv": Kind(".csv", _csv, _of_columns, TEXTS.map(lambda text: text.replace("\n", ""))),
    "csv with newlines": Kind(".csv", _csv, _of_columns, fixed=(("quoted_newlines", True),)),
    "parquet": Kind(".parquet", _parquet, _of_columns),
    "tar": Kind(".tar", _tar, _of_samples),
    "gzip lines": Kind(
        ".txt.gz", lambda r, w: gzip.compress(_lines(r, w), mtime=0), _of_lines, ONE_LINE
    ),
    "zstd lines": Kind(".txt.zst", lambda r, w: _zstd(_lines(r, w)), _of_lines, ONE_LINE),
    "gzip json": Kind(
        ".jsonl.gz", lambda r, w: gzip.compress(_json_lines(r, w), mtime=0), _of_columns
    ),
    "zstd json": Kind(".jsonl.zst", lambda r, w: _zstd(_json_lines(r, w)), _of_columns),
}
each_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)

WRITTEN_AS = st.builds(WrittenAs, choice=st.integers(0, 2), mark=st.booleans())
