import itertools
from pathlib import Path

import numpy as np
import pytest

from tests.unit.records.host_data import write_shards
from training.records import RecordError, Shard, find_shards
from training.records.formats import line_blocks, line_reader
from training.records.formats.line_blocks import index_lines
from training.records.formats.line_reader import LineReader
from training.records.formats.protocol import BlockRef

MARK = b"\xef\xbb\xbf"
CONTENTS = [
    b"\n",
    b"\n\n\n",
    b"a",
    b"a\n",
    b"a\nbb\n\nccc",
    b"a\r\nbb\r\n",
    b"\na",
    b"0123456789\n01\n",
    b"0123456789" * 9,
    b"x\n" + b"long" * 40 + b"\ny\nz",
    "é\u2028\n\U0001f600\n".encode(),
    MARK,
    MARK + b"\n" + MARK + b"a",
    MARK + MARK + b"one\r\r\n\r\nthree\r",
    b"four\x0b\xe2\x80\xa8five\n\rsix",
]
BLOCK_BYTES = [1, 2, 3, 7, 16, 1 << 10]


def _lines(content: bytes) -> list[bytes]:
    r"""Split as the format says, written differently: "\n" ends a line, the last may lack it."""
    pieces = content.split(b"\n")
    return pieces[:-1] if pieces[-1] == b"" else pieces


def _stripped(lines: list[bytes], *, starts_file: bool) -> list[bytes]:
    if starts_file and lines:
        lines = [lines[0].removeprefix(MARK), *lines[1:]]
    return [line.removesuffix(b"\r") for line in lines]


def _shards(directory: Path, contents: list[bytes]) -> list[Shard]:
    names = [f"{number:02d}.txt" for number in range(len(contents))]
    write_shards(directory, dict(zip(names, contents, strict=True)))
    return list(find_shards(directory))


def _refs(shard: Shard, block_bytes: int) -> list[BlockRef]:
    bounds = index_lines(shard, block_bytes, count=False).bounds.tolist()
    return [BlockRef(shard, start, stop) for start, stop in itertools.pairwise(bounds)]


def _texts(reader: LineReader, refs: list[BlockRef]) -> list[bytes]:
    lines = reader.read(refs)
    offsets = lines.offsets.tolist()
    pairs = zip(offsets[:-1:2], offsets[1::2], strict=True)
    return [bytes(lines.content[start:stop]) for start, stop in pairs]


@pytest.mark.parametrize("block_bytes", BLOCK_BYTES)
@pytest.mark.parametrize("piece_bytes", [1, 5, 1 << 20])
def test_counts_and_reads_each_line_in_the_block_it_starts_in(
    tmp_path: Path, block_bytes: int, piece_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_blocks, "PIECE_BYTES", piece_bytes)
    reader = LineReader()
    for shard, content in zip(_shards(tmp_path, CONTENTS), CONTENTS, strict=True):
        ends = itertools.accumulate(len(line) + 1 for line in _lines(content))
        starts = [0, *ends][:-1]
        counts = index_lines(shard, block_bytes, count=True).counts
        assert counts is not None
        for number, ref in enumerate(_refs(shard, block_bytes)):
            expected = [
                line
                for line, start in zip(_lines(content), starts, strict=True)
                if ref.start <= start < ref.stop
            ]
            assert _texts(reader, [ref]) == _stripped(expected, starts_file=number == 0)
            assert counts[number] == len(expected)


@pytest.mark.parametrize("block_bytes", BLOCK_BYTES)
def test_reads_any_blocks_into_one_buffer(tmp_path: Path, block_bytes: int) -> None:
    shards = _shards(tmp_path, CONTENTS)
    refs = [ref for shard in shards for ref in _refs(shard, block_bytes)]
    reader = LineReader()
    alone = [_texts(reader, [ref]) for ref in refs]
    generator = np.random.default_rng(0)
    for _ in range(20):
        chosen = np.sort(generator.choice(len(refs), generator.integers(1, len(refs) + 1), False))
        together = reader.read([refs[number] for number in chosen])
        assert together.lengths.tolist() == [len(alone[number]) for number in chosen]
        expected = [line for number in chosen for line in alone[number]]
        assert _texts(reader, [refs[number] for number in chosen]) == expected


@pytest.mark.parametrize("block_bytes", BLOCK_BYTES)
def test_locates_each_line(tmp_path: Path, block_bytes: int) -> None:
    shards = _shards(tmp_path, CONTENTS)
    lines = LineReader().read([ref for shard in shards for ref in _refs(shard, block_bytes)])
    expected = [
        f"{shard.name}, line {number + 1}"
        for shard, content in zip(shards, CONTENTS, strict=True)
        for number in range(len(_lines(content)))
    ]
    assert [lines.places.locate(index) for index in range(int(lines.lengths.sum()))] == expected


def test_a_line_longer_than_many_blocks_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_reader, "SLACK_BYTES", 1)
    long = bytes(range(32, 127)) * 1000
    (shard,) = _shards(tmp_path, [b"a\n" + long + b"\nb\n"])
    refs = _refs(shard, 64)
    assert _texts(LineReader(), refs[:1]) == [b"a", long]
    assert _texts(LineReader(), refs) == [b"a", long, b"b"]


def test_buffers_are_used_again_once_nobody_holds_them(tmp_path: Path) -> None:
    (shard,) = _shards(tmp_path, [b"a\nb\n"])
    reader, refs = LineReader(), _refs(shard, 8)
    held = [reader.read(refs), reader.read(refs)]
    buffers = {id(lines.content) for lines in held}
    assert len(buffers) == 2
    del held
    again = [reader.read(refs), reader.read(refs)]
    assert {id(lines.content) for lines in again} == buffers
    assert all(bytes(lines.content[:4]) == b"a\nb\n" for lines in again)


def test_refuses_a_shard_that_shrank_after_it_was_listed(tmp_path: Path) -> None:
    (shard,) = _shards(tmp_path, [b"a\nbc\n"])
    shard.path.write_bytes(b"a\n")
    with pytest.raises(RecordError, match=r"00\.txt changed after the shards were listed"):
        index_lines(shard, 4, count=True)
    with pytest.raises(RecordError, match=r"00\.txt changed after the shards were listed"):
        LineReader().read(_refs(shard, 4))


def test_a_shard_need_not_be_read_to_be_cut(tmp_path: Path) -> None:
    shard = Shard(name="a.txt", path=tmp_path / "missing", size_bytes=9)
    index = index_lines(shard, 4, count=False)
    assert (index.bounds.tolist(), index.counts) == ([0, 4, 8, 9], None)
