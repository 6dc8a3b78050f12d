from pathlib import Path

import pytest

from tests.unit.records.host_data import write_shards
from training.records import find_shards
from training.records.blocks import count_lines
from training.records.order import order_epoch
from training.records.windows import Line, Window

MARK = b"\xef\xbb\xbf"


def _window(directory: Path, *, shuffle: bool, block_bytes: int = 4) -> Window:
    """Read everything below `directory` as one window."""
    table = count_lines(find_shards(directory), block_bytes)
    order = order_epoch(table.counts, seed=1, epoch=0, shuffle=shuffle, window_blocks=1000)
    return Window.read(table, order, 0)


@pytest.mark.parametrize("block_bytes", [1, 4, 1000])
def test_lines_lose_their_ends_and_a_files_byte_order_mark(
    tmp_path: Path, block_bytes: int
) -> None:
    contents = {
        "a.jsonl": MARK + MARK + b"one\r\r\n" + MARK + b"two\n\nthree\r",
        "b.jsonl": b"four\x0b\xe2\x80\xa8five\n\rsix",
    }
    write_shards(tmp_path, contents)
    a, b = find_shards(tmp_path)
    lines = _window(tmp_path, shuffle=False, block_bytes=block_bytes).lines(0, 6)
    assert lines == [
        Line(a, 0, MARK + b"one\r"),
        Line(a, 12, MARK + b"two"),
        Line(a, 19, b""),
        Line(a, 20, b"three"),
        Line(b, 0, b"four\x0b\xe2\x80\xa8five"),
        Line(b, 13, b"\rsix"),
    ]


def test_lines_are_cut_from_one_shuffled_order(tmp_path: Path) -> None:
    numbers = [str(n).encode() for n in range(50)]
    write_shards(tmp_path, {"a.jsonl": b"\n".join(numbers)})
    window = _window(tmp_path, shuffle=True)
    lines = window.lines(0, 50)
    contents = [line.content for line in lines]
    assert sorted(contents, key=int) == numbers
    assert contents != numbers
    assert window.lines(7, 20) == lines[7:20]
    assert window.lines(50, 50) == []
