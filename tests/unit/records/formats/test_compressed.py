import gzip
import logging
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.unit.records.formats.shard_files import (
    blocks_of,
    counts_and_lengths,
    cut_short,
    read_all,
    rows_of,
    write_shard,
)
from training.records.errors import RecordError
from training.records.formats import compressed_stream
from training.records.formats.compressed import STREAMS_KEPT, CompressedFormat, make
from training.records.formats.lines import LinesFormat
from training.records.formats.protocol import FormatSettings
from training.records.shards import Shard

BOTH_CODECS = pytest.mark.parametrize("ending", [".gz", ".zst"])
TEXT = b"".join(b"line %d%s\n" % (n, b"x" * (n * 7 % 50)) for n in range(1000))
LINES = TEXT.decode().splitlines()


def packed(text: bytes, ending: str) -> bytes:
    if ending == ".gz":
        return gzip.compress(text, mtime=0)
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(text)
    return bytes(sink.getvalue())


def shard_of(folder: Path, text: bytes, ending: str, name: str = "a.txt") -> Shard:
    return write_shard(folder, name + ending, packed(text, ending))


def lines_format(block_bytes: int, errors: str = "strict") -> CompressedFormat:
    return make("compressed_lines", FormatSettings(block_bytes=block_bytes, errors=errors))


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of shards that are opened, in order."""
    names: list[str] = []
    start = compressed_stream.TextStream.__init__

    def counted(stream: compressed_stream.TextStream, shard: Shard) -> None:
        names.append(shard.name)
        start(stream, shard)

    monkeypatch.setattr(compressed_stream.TextStream, "__init__", counted)
    return names


@BOTH_CODECS
@pytest.mark.parametrize(
    "text",
    [
        b"one\ntwo\nthree\n",
        b"one\ntwo\nthree",
        b"one\r\ntwo\r\n\r\nth\rree\r",
        b"\xef\xbb\xbfone\n\xef\xbb\xbftwo\n",
        b"\n\n\n",
        b"\n",
        b"x",
        b"\xef\xbb\xbf",
        "u\u2028v\x85w\nü\n".encode(),
        b"long " * 2000 + b"\nshort\n" + b"longer " * 2000,
    ],
)
@pytest.mark.parametrize("block_bytes", [1, 2, 3, 7, 1000, 1 << 17])
def test_lines_and_blocks_are_those_of_the_same_text_uncompressed(
    tmp_path: Path, text: bytes, block_bytes: int, ending: str
) -> None:
    shard = shard_of(tmp_path, text, ending)
    plain = write_shard(tmp_path, "plain.txt", text)
    plain_format = LinesFormat(block_bytes=block_bytes, errors="strict")
    shard_format = lines_format(block_bytes)
    expected = plain_format.index(plain, count=True)
    found = shard_format.index(shard, count=False)
    assert found.bounds.tolist() == expected.bounds.tolist()
    assert found.counts is not None
    assert expected.counts is not None
    assert found.counts.tolist() == expected.counts.tolist()
    assert found.sequential
    assert read_all(shard_format, [shard], "str") == read_all(plain_format, [plain], "str")
    if len(found.counts) < 50:
        counts, lengths = counts_and_lengths(shard_format, [shard])
        assert counts == lengths


@BOTH_CODECS
def test_windows_one_after_the_other_decompress_a_shard_once(
    tmp_path: Path, ending: str, opened: list[str]
) -> None:
    shard = shard_of(tmp_path, TEXT, ending)
    shard_format = lines_format(100)
    blocks = blocks_of(shard_format, [shard])
    assert opened == ["a.txt" + ending]
    read: list[str] = []
    for first in range(0, len(blocks), 7):
        read += rows_of(shard_format.read(blocks[first : first + 7])).output("str")
    assert read == LINES
    assert opened == ["a.txt" + ending] * 2


@BOTH_CODECS
def test_any_order_gives_the_same_lines(tmp_path: Path, ending: str) -> None:
    shards = [shard_of(tmp_path, TEXT, ending, f"{n}.txt") for n in range(3)]
    shard_format = lines_format(1000)
    blocks = blocks_of(shard_format, shards)
    order = np.random.Generator(np.random.PCG64(0)).permutation(len(blocks)).tolist()
    by_block = {n: rows_of(shard_format.read([blocks[n]])).output("str") for n in order}
    assert [line for n in range(len(blocks)) for line in by_block[n]] == LINES * 3
    assert len(shard_format._streams) == STREAMS_KEPT
    scattered = rows_of(shard_format.read([blocks[n] for n in order])).output("str")
    assert scattered == [line for n in order for line in by_block[n]]


@BOTH_CODECS
def test_the_end_of_one_shard_and_the_start_of_another_share_a_window(
    tmp_path: Path, ending: str, opened: list[str]
) -> None:
    shards = [shard_of(tmp_path, TEXT, ending, f"{n}.txt") for n in range(2)]
    shard_format = lines_format(1000)
    blocks = blocks_of(shard_format, shards)
    half = len(blocks) // 2
    first, second = blocks[:half], blocks[half:]
    opened.clear()
    # As the loader reads when the second shard comes first: blocks of a window by their numbers.
    windows = [second[:30], first[:3] + second[30:], first[3:]]
    read = [rows_of(shard_format.read(window)).output("str") for window in windows]
    assert sorted(line for window in read for line in window) == sorted(LINES * 2)
    assert opened == ["1.txt" + ending, "0.txt" + ending]


@BOTH_CODECS
def test_memory_does_not_grow_with_the_shard(tmp_path: Path, ending: str) -> None:
    before = pa.total_allocated_bytes()
    shard = shard_of(tmp_path, b"0123456789abcde\n" * (1 << 20), ending)
    shard_format = lines_format(1 << 17)
    most = 0
    for block in blocks_of(shard_format, [shard]):
        assert shard_format.read([block]).lengths.tolist() == [8192]
        most = max(most, pa.total_allocated_bytes() - before)
    assert most < 4 << 20


@BOTH_CODECS
def test_places_are_lines_of_the_text(tmp_path: Path, ending: str) -> None:
    shards = [shard_of(tmp_path, TEXT, ending, f"{n}.txt") for n in range(2)]
    shard_format = lines_format(100)
    blocks = blocks_of(shard_format, shards)
    rows = shard_format.read(blocks[5:9] + blocks[-3:]).take(np.array([0, 4]))
    for index, line in enumerate(rows.output("str")):
        number = int(line.split()[1].rstrip("x"))
        assert rows.locate(index) == f"0.txt{ending}, line {number + 1}"
    last = rows_of(shard_format.read(blocks[-1:]))
    assert last.locate(len(last) - 1) == f"1.txt{ending}, line 1000"


@BOTH_CODECS
def test_bytes_that_are_not_utf8_are_refused_by_place_or_replaced(
    tmp_path: Path, ending: str
) -> None:
    shard = shard_of(tmp_path, b"one\ntwo\nth\xc3", ending)
    with pytest.raises(RecordError, match=rf"^a\.txt{ending}, line 3: byte 10 of"):
        read_all(lines_format(4), [shard], "str")
    assert read_all(lines_format(4, "replace"), [shard], "str") == ["one", "two", "th\ufffd"]


@BOTH_CODECS
def test_json_lines_are_parsed(tmp_path: Path, ending: str) -> None:
    shard = shard_of(tmp_path, b'{"id": 0}\n{"id": 1}\n', ending, "a.jsonl")
    shard_format = make("compressed_json_lines", FormatSettings(block_bytes=3))
    assert shard_format.name == "compressed_json_lines"
    assert read_all(shard_format, [shard]) == [{"id": 0}, {"id": 1}]
    bad = shard_of(tmp_path, b'{"id": 0}\n[1]\n', ending, "b.jsonl")
    with pytest.raises(RecordError, match=rf"^b\.jsonl{ending}, line 2: a list, not a JSON object"):
        read_all(shard_format, [bad])


@BOTH_CODECS
def test_shards_compressed_in_pieces_are_read_to_their_end(tmp_path: Path, ending: str) -> None:
    content = b"".join(
        packed(TEXT[start : start + 5000], ending) for start in range(0, 40000, 5000)
    )
    shard = write_shard(tmp_path, "a.txt" + ending, content)
    assert read_all(lines_format(1000), [shard], "str") == TEXT[:40000].decode().splitlines()


@BOTH_CODECS
def test_an_empty_text_has_no_blocks(tmp_path: Path, ending: str) -> None:
    shard = shard_of(tmp_path, b"", ending)
    shard_format = lines_format(10)
    index = shard_format.index(shard, count=True)
    assert index.bounds.tolist() == [0]
    assert index.counts is not None
    assert index.counts.tolist() == []
    assert read_all(shard_format, [shard], "str") == []


@BOTH_CODECS
@pytest.mark.parametrize("left", [1, 3, 9, 0.3, 0.7, -9, -5, -1])
def test_a_cut_shard_is_refused_by_name(tmp_path: Path, ending: str, left: float) -> None:
    shard = shard_of(tmp_path, TEXT, ending)
    bytes_left = int(left * shard.size_bytes) if 0 < left < 1 else int(left) % shard.size_bytes
    cut = cut_short(shard, bytes_left)
    with pytest.raises(RecordError, match=rf"^a\.txt{ending} cannot be decompressed beyond byte"):
        lines_format(1000).index(cut, count=True)


@BOTH_CODECS
def test_a_damaged_shard_is_refused_by_name(tmp_path: Path, ending: str) -> None:
    for content in (b"no such thing", packed(TEXT, ending) + b"junk", packed(TEXT, ending)[1:]):
        shard = write_shard(tmp_path, "a.txt" + ending, content)
        with pytest.raises(RecordError, match=rf"^a\.txt{ending} cannot be decompressed"):
            lines_format(1000).index(shard, count=True)


def test_a_changed_byte_in_gzip_is_refused_by_name(tmp_path: Path) -> None:
    content = bytearray(packed(TEXT, ".gz"))
    content[-7] ^= 1  # A byte of the checksum.
    shard = write_shard(tmp_path, "a.txt.gz", bytes(content))
    with pytest.raises(RecordError, match=r"^a\.txt\.gz cannot be decompressed .*check"):
        lines_format(1000).index(shard, count=True)


@BOTH_CODECS
def test_a_shard_that_changed_after_it_was_indexed_is_refused(tmp_path: Path, ending: str) -> None:
    shard = shard_of(tmp_path, TEXT, ending)
    shard_format = lines_format(1000)
    blocks = blocks_of(shard_format, [shard])
    cut_short(shard, 300)
    with pytest.raises(RecordError, match=rf"a\.txt{ending} changed after the shards were listed"):
        shard_format.read(blocks)
    # Another text that takes as many bytes.
    other = packed(TEXT[:5000], ending)
    rest = shard.size_bytes - len(other)
    padding = packed(b"", ending)
    assert rest > len(padding)
    filler = next(
        made
        for n in range(rest)
        if len(made := other + packed(np.random.default_rng(0).bytes(n), ending))
        == shard.size_bytes
    )
    shard.path.write_bytes(filler)
    with pytest.raises(RecordError, match=rf"a\.txt{ending} changed .*its text ends at byte"):
        shard_format.read(blocks)


def test_other_endings_are_refused_by_name(tmp_path: Path) -> None:
    shard = write_shard(tmp_path, "a.txt.xz", b"content")
    with pytest.raises(RecordError, match=r"^a\.txt\.xz: the names of compressed shards end in"):
        lines_format(1000).index(shard, count=True)


def test_the_user_is_warned_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    shards = [shard_of(tmp_path, TEXT, ".gz", f"{n}.txt") for n in range(3)]
    with caplog.at_level(logging.WARNING):
        blocks_of(lines_format(1000), shards)
    (message,) = caplog.messages
    assert message.startswith("0.txt.gz is compressed: it is decompressed once beforehand")
