"""What a loader says of damaged data, and what it still hands out."""

import threading
from pathlib import Path

import pytest

from tests.unit.records.host_data import (
    host_loaders,
    ids_of,
    numbered,
    records_of,
    small_blocks,
    write_shards,
)
from training.records import RecordError, RecordLoader, find_shards, windows


@pytest.mark.parametrize(
    ("content", "line"),
    [(b'{"id": 0}\n\n', 2), (b"\n", 1), (b'\n{"id": 0}\n', 1), (b"\xef\xbb\xbf", 1)],
)
def test_an_empty_line_is_no_record(tmp_path: Path, content: bytes, line: int) -> None:
    write_shards(tmp_path, {"a.jsonl": content})
    with pytest.raises(RecordError, match=rf"^a\.jsonl, line {line}: an empty line\. Each line"):
        records_of(host_loaders(tmp_path, small_blocks()))


def test_refuses_a_shard_that_shrank_after_listing(host: Path) -> None:
    shards = find_shards(host)
    (host / "a.jsonl").write_bytes(numbered(3))
    with pytest.raises(RecordError, match=r"^a\.jsonl changed after the shards were listed"):
        RecordLoader(shards, settings=small_blocks(), part=0, parts=1)


def test_refuses_a_shard_that_shrank_after_counting(host: Path) -> None:
    (loader,) = host_loaders(host, small_blocks())
    (host / "deep" / "c.jsonl").write_bytes(numbered(3))
    with pytest.raises(RecordError, match=r"^deep/c\.jsonl changed after the shards were listed"):
        ids_of([loader])


def test_the_check_of_counts_is_what_notices_moved_lines(
    host: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (loader,) = host_loaders(host, small_blocks(block_bytes=1 << 10))
    content = (host / "a.jsonl").read_bytes()
    (host / "a.jsonl").write_bytes(content.replace(b"}\n{", b"},{", 1))
    with pytest.raises(
        RecordError, match=r"^a\.jsonl changed.*a block at 0 had \d+ records and has"
    ):
        ids_of([loader])
    monkeypatch.setattr(windows, "_check_counts", lambda *_: None)
    with pytest.raises(RecordError, match="not valid JSON"):
        ids_of([loader])


@pytest.mark.parametrize("prefetch", [True, False])
@pytest.mark.parametrize("output", ["str", "packed", "arrow", "records"])
def test_damage_after_some_batches_ends_the_epoch_with_the_shards_name(
    tmp_path: Path,
    prefetch: bool,  # noqa: FBT001 - drawn
    output: str,
) -> None:
    write_shards(tmp_path, {f"{n}.jsonl": numbered(200) for n in range(5)})
    settings = small_blocks(prefetch=prefetch, output=output, window_blocks=2, shuffle=False)
    (loader,) = host_loaders(tmp_path, settings)
    threads = threading.active_count()
    epoch = loader.epoch(0)
    next(epoch)
    (tmp_path / "3.jsonl").write_bytes(numbered(3))
    with pytest.raises(RecordError, match=r"^3\.jsonl changed after the shards were listed"):
        list(epoch)
    assert threading.active_count() == threads
    # The state is that after the last good batch: what is left can still be told.
    assert loader.state_dict()["now"][0] > 10
    assert list(epoch) == []


@pytest.mark.parametrize("prefetch", [True, False])
@pytest.mark.parametrize(
    ("output", "bad", "message"),
    [
        ("records", b"bad", "not valid JSON"),
        ("arrow", b"bad", "not valid JSON"),
        ("str", b'{"id": "\xff"}', "is not UTF-8"),
    ],
)
def test_good_batches_before_a_bad_record_are_handed_out(
    tmp_path: Path,
    output: str,
    bad: bytes,
    message: str,
    prefetch: bool,  # noqa: FBT001 - drawn
) -> None:
    write_shards(tmp_path, {"a.jsonl": numbered(50) + bad + b"\n" + numbered(50)})
    settings = small_blocks(shuffle=False, block_bytes=1 << 17, output=output, prefetch=prefetch)
    (loader,) = host_loaders(tmp_path, settings)
    epoch = loader.epoch(0)
    good = [next(epoch) for _ in range(12)]
    assert [record["id"] for made in good for record in made.records] == list(range(48))
    with pytest.raises(RecordError, match=rf"^a\.jsonl, line 51: .*{message}"):
        next(epoch)
    assert list(epoch) == []


def test_columns_that_change_between_batches_of_a_chunk_are_refused(tmp_path: Path) -> None:
    lines = b'{"a": 1}\n{"a": 2}\n{"a": "x"}\n{"a": "y"}\n'
    write_shards(tmp_path, {"a.jsonl": lines})
    settings = small_blocks(shuffle=False, block_bytes=1 << 17, output="arrow", batch_size=2)
    (loader,) = host_loaders(tmp_path, settings)
    with pytest.raises(RecordError, match=r"^a\.jsonl, line"):
        list(loader.epoch(0))
