import io
from pathlib import Path

import pytest

from training.records import RecordError, Shard, reading
from training.records.reading import fill, locate, open_shard


@pytest.fixture
def shard(tmp_path: Path) -> Shard:
    path = tmp_path / "part.jsonl"
    path.write_bytes(b"one\ntwo\n\nfour")
    return Shard(name="deep/part.jsonl", path=path, size_bytes=13)


def test_fills_a_buffer_from_an_offset(shard: Shard) -> None:
    buffer = bytearray(5)
    with open_shard(shard) as file:
        fill(file, shard, 4, memoryview(buffer))
    assert bytes(buffer) == b"two\n\n"


def test_fills_a_buffer_from_a_file_that_gives_little_at_a_time(shard: Shard) -> None:
    class Slow(io.FileIO):
        def readinto(self, buffer: memoryview) -> int:  # type: ignore[override] # narrower
            return super().readinto(buffer[:2]) or 0

    buffer = bytearray(13)
    with Slow(shard.path) as file:
        fill(file, shard, 0, memoryview(buffer))
    assert bytes(buffer) == b"one\ntwo\n\nfour"


@pytest.mark.parametrize("content", [b"one\n", b"one\ntwo\n\nfour and more"])
def test_refuses_a_shard_of_another_size(shard: Shard, content: bytes) -> None:
    shard.path.write_bytes(content)
    expected = rf"deep/part\.jsonl changed.*had 13 bytes, it has {len(content)} bytes now"
    with pytest.raises(RecordError, match=expected), open_shard(shard):
        pass


def test_refuses_a_shard_that_vanished(shard: Shard) -> None:
    shard.path.unlink()
    with pytest.raises(RecordError, match=r"deep/part\.jsonl cannot be opened"), open_shard(shard):
        pass


def test_refuses_a_shard_that_shrinks_while_it_is_read(shard: Shard) -> None:
    with open_shard(shard) as file:
        shard.path.write_bytes(b"one\n")
        with pytest.raises(RecordError, match=r"deep/part\.jsonl changed.*ends at byte 4 now"):
            fill(file, shard, 0, memoryview(bytearray(13)))


def test_refuses_a_shard_that_the_disk_does_not_give(shard: Shard) -> None:
    class Broken(io.FileIO):
        def readinto(self, buffer: memoryview) -> int:  # type: ignore[override] # narrower
            raise OSError(5, "Input/output error", len(buffer))

    with (
        Broken(shard.path) as file,
        pytest.raises(RecordError, match=r"deep/part\.jsonl cannot be read at byte 3 \(Input/outp"),
    ):
        fill(file, shard, 3, memoryview(bytearray(10)))


@pytest.mark.parametrize("piece_bytes", [1, 3, 1 << 20])
def test_locates_a_byte_by_shard_and_line(
    shard: Shard, piece_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "PIECE_BYTES", piece_bytes)
    lines = [locate(shard, offset) for offset in (0, 3, 4, 8, 9, 12)]
    assert lines == [f"deep/part.jsonl, line {n}" for n in (1, 1, 2, 3, 4, 4)]
