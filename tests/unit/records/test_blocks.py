import itertools
from pathlib import Path

import pytest

from training.records import RecordError, Shard, blocks
from training.records.blocks import BlockTable, count_lines, read_blocks

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
]
BLOCK_BYTES = [1, 2, 3, 7, 16, 1 << 10]


def _lines(content: bytes) -> list[bytes]:
    r"""Split as the format says, written differently: "\n" ends a line, the last may lack it."""
    pieces = content.split(b"\n")
    return pieces[:-1] if pieces[-1] == b"" else pieces


def _table(directory: Path, contents: list[bytes], block_bytes: int) -> BlockTable:
    shards = []
    for number, content in enumerate(contents):
        path = directory / f"{number:02d}.jsonl"
        path.write_bytes(content)
        shards.append(Shard(name=path.name, path=path, size_bytes=len(content)))
    return count_lines(shards, block_bytes)


def _texts(table: BlockTable, number: int) -> list[bytes]:
    (lines,) = read_blocks(table, [number])
    pairs = zip(lines.starts.tolist(), lines.stops.tolist(), strict=True)
    return [bytes(lines.content[start:stop]) for start, stop in pairs]


@pytest.mark.parametrize("block_bytes", BLOCK_BYTES)
@pytest.mark.parametrize("piece_bytes", [1, 5, 1 << 20])
def test_counts_and_reads_each_line_in_the_block_it_starts_in(
    tmp_path: Path, block_bytes: int, piece_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "PIECE_BYTES", piece_bytes)
    table = _table(tmp_path, CONTENTS, block_bytes)
    number = 0
    for content in CONTENTS:
        ends = itertools.accumulate(len(line) + 1 for line in _lines(content))
        starts = [0, *ends][:-1]
        for first in range(0, len(content), block_bytes):
            expected = [
                line
                for line, start in zip(_lines(content), starts, strict=True)
                if first <= start < first + block_bytes
            ]
            assert _texts(table, number) == expected
            assert table.counts[number] == len(expected)
            number += 1
    assert number == len(table.counts) == table.first_blocks[-1]


def test_a_line_longer_than_many_blocks_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "SLACK_BYTES", 1)
    long = bytes(range(32, 127)) * 1000
    table = _table(tmp_path, [b"a\n" + long + b"\nb\n"], 64)
    assert table.counts.tolist()[0] == 2
    assert _texts(table, 0) == [b"a", long]
    assert table.counts.sum() == 3


def test_no_shards_have_no_blocks() -> None:
    table = count_lines([], 16)
    assert table.counts.tolist() == []
    assert table.first_blocks.tolist() == [0]


def test_refuses_a_shard_whose_lines_moved_after_they_were_counted(tmp_path: Path) -> None:
    table = _table(tmp_path, [b"a\nb\nc\n"], 1 << 10)
    table.shards[0].path.write_bytes(b"a\nbbbb")
    with pytest.raises(RecordError, match=r"00\.jsonl changed.*had 3 lines and has 2"):
        read_blocks(table, [0])


def test_refuses_a_shard_that_shrank_after_it_was_listed(tmp_path: Path) -> None:
    path = tmp_path / "part.jsonl"
    path.write_bytes(b"a\n")
    with pytest.raises(RecordError, match=r"part\.jsonl changed after the shards were listed"):
        count_lines([Shard(name="part.jsonl", path=path, size_bytes=9)], 4)


def test_the_check_of_counts_is_what_notices_moved_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = _table(tmp_path, [b"a\nb\nc\n"], 1 << 10)
    table.shards[0].path.write_bytes(b"a\nbbbb")
    monkeypatch.setattr(blocks, "_check_count", lambda *_: None)
    assert _texts(table, 0) == [b"a", b"bbbb"]
