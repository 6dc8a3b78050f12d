import json
from pathlib import Path

import pytest

from tests.unit.records.host_data import (
    host_loaders,
    ids_of,
    lines_of,
    numbered,
    records_of,
    small_blocks,
    write_shards,
)
from training.records import Batch, RecordError, RecordLoader, Shard, find_shards
from training.records import epoch as epoch_module


@pytest.mark.parametrize("parts", [1, 2, 3, 8])
def test_parts_hold_each_record_once(host: Path, parts: int) -> None:
    loaders = host_loaders(host, small_blocks(), parts=parts)
    counts = loaders[0].counts
    assert all(loader.counts == counts for loader in loaders)
    assert [len(ids_of([loader])) for loader in loaders] == list(counts)
    assert max(counts) - min(counts) <= 1
    assert sorted(ids_of(loaders)) == list(range(61))


def test_the_hosts_order_does_not_depend_on_the_parts(host: Path) -> None:
    alone = ids_of(host_loaders(host, small_blocks()))
    for parts in (2, 3, 8):
        assert ids_of(host_loaders(host, small_blocks(), parts=parts)) == alone
    assert ids_of(host_loaders(host, small_blocks(batch_size=7))) == alone


def test_the_order_is_repeated_and_changes_with_epoch_and_seed(host: Path) -> None:
    (loader,) = host_loaders(host, small_blocks())
    first = ids_of([loader], 0)
    assert ids_of([loader], 1) != first
    assert ids_of([loader], 0) == first
    assert ids_of(host_loaders(host, small_blocks())) == first
    assert ids_of(host_loaders(host, small_blocks(seed=4))) != first


def test_two_epochs_may_be_read_side_by_side(host: Path) -> None:
    (loader,) = host_loaders(host, small_blocks())
    pairs = zip(loader.epoch(0), loader.epoch(1), strict=True)
    sides = [([r["id"] for r in a.records], [r["id"] for r in b.records]) for a, b in pairs]
    assert [number for a, _ in sides for number in a] == ids_of([loader], 0)
    assert [number for _, b in sides for number in b] == ids_of([loader], 1)


def test_without_shuffle_the_order_is_that_of_the_data(host: Path) -> None:
    loaders = host_loaders(host, small_blocks(shuffle=False), parts=3)
    assert ids_of(loaders) == list(range(61))
    assert ids_of(loaders, 1) == list(range(61))


def test_batches_are_full_but_for_the_last(host: Path) -> None:
    (loader,) = host_loaders(host, small_blocks(batch_size=8))
    assert [len(batch) for batch in loader.epoch(0)] == [8] * 7 + [5]


def test_a_batch_says_where_a_record_came_from(host: Path) -> None:
    lines = {record["id"]: record for record in records_of(host_loaders(host, small_blocks()))}
    assert len(lines) == 61
    places: dict[int, str] = {}
    for loader in host_loaders(host, small_blocks(), parts=2):
        for made in loader.epoch(0):
            assert isinstance(made, Batch)
            places |= {r["id"]: made.locate(i) for i, r in enumerate(made.records)}
    assert places == {
        number: f"a.jsonl, line {number + 1}"
        if number < 40
        else "b.jsonl, line 1"
        if number == 40
        else f"deep/c.jsonl, line {number - 40}"
        for number in range(61)
    }


def test_a_host_without_shards_has_no_batches(tmp_path: Path) -> None:
    loaders = host_loaders(tmp_path, small_blocks(), parts=2)
    assert loaders[1].counts == (0, 0)
    assert list(loaders[1].epoch(0)) == []


def test_fewer_records_than_parts_leave_parts_empty(tmp_path: Path) -> None:
    write_shards(tmp_path, {"a.jsonl": numbered(2)})
    loaders = host_loaders(tmp_path, small_blocks(), parts=5)
    assert sorted(loaders[0].counts) == [0, 0, 0, 1, 1]
    assert sorted(ids_of(loaders)) == [0, 1]


@pytest.mark.parametrize("block_bytes", [1, 7, 1 << 17])
def test_reads_every_way_of_writing_lines(tmp_path: Path, block_bytes: int) -> None:
    write_shards(
        tmp_path,
        {
            "bom.jsonl": b'\xef\xbb\xbf{"id": 0}\n{"id": 1}\n',
            "crlf.jsonl": b'{"id": 2}\r\n{"id": 3}\r\n',
            "open.jsonl": b'{"id": 4}\n{"id": 5}',
            "open-crlf.jsonl": b'{"id": 6}\r\n{"id": 7}\r',
            "separators.jsonl": '{"id": 8, "t": "\u2028\u2029\x85"}\n{"id": 9}\n'.encode(),
            "long.jsonl": b'{"id": 10, "t": "%s"}\n{"id": 11}\n' % (b"x" * 300_000),
        },
    )
    loaders = host_loaders(tmp_path, small_blocks(block_bytes=block_bytes), parts=2)
    assert sorted(ids_of(loaders)) == list(range(12))
    texts = {record["id"]: record.get("t", "") for record in records_of(loaders)}
    assert texts[8] == "\u2028\u2029\x85"
    assert len(texts[10]) == 300_000


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batch_size": 0}, "batch_size=0: set it to 1 or more"),
        ({"block_bytes": 0}, "block_bytes=0: set it to 1 or more"),
        ({"window_blocks": -1}, "window_blocks=-1: set it to 1 or more"),
        ({"seed": -1}, "seed=-1: set it to 0 or more"),
        ({"seed": 2**63}, "seed=9223372036854775808: set it to 0 or more, at most"),
    ],
)
def test_refuses_settings_out_of_range(changes: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small_blocks(**changes)


@pytest.mark.parametrize(("part", "parts"), [(1, 1), (-1, 2), (0, 0)])
def test_refuses_a_part_that_there_is_not(part: int, parts: int) -> None:
    with pytest.raises(ValueError, match=f"part={part} of parts={parts}: set part to the local"):
        RecordLoader((), settings=small_blocks(), part=part, parts=parts)


def test_refuses_a_negative_epoch_at_once(host: Path) -> None:
    (loader,) = host_loaders(host, small_blocks())
    with pytest.raises(ValueError, match="epoch=-1: epochs are counted from 0"):
        loader.epoch(-1)


@pytest.mark.parametrize("output", ["records", "str", "bytes", "packed", "arrow"])
@pytest.mark.parametrize("batch_size", [1, 3, 7, 61, 1000])
def test_every_output_has_the_same_records_in_the_same_order(
    host: Path, output: str, batch_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(epoch_module, "CHUNK_RECORDS", 10)
    settings = small_blocks(output=output, batch_size=batch_size, window_blocks=5, seed=4)
    (loader,) = host_loaders(host, settings)
    expected_settings = small_blocks(batch_size=4, window_blocks=5, seed=4, prefetch=False)
    (expected,) = host_loaders(host, expected_settings)
    batches = list(loader.epoch(0))
    records = [json.loads(line) for made in batches for line in lines_of(made.data)]
    assert records == records_of([expected])
    assert [len(made) for made in batches[:-1]] == [batch_size] * (len(batches) - 1)
    # Whatever the output, a batch can still be taken as records.
    assert [record for made in batches for record in made.records] == records


def test_refuses_an_output_that_the_format_does_not_have(tmp_path: Path) -> None:
    write_shards(tmp_path, {"a.txt": b"a\n"})
    with pytest.raises(ValueError, match=r"output='records': shards of format lines come as str, "):
        host_loaders(tmp_path, small_blocks(output="records"))
    with pytest.raises(ValueError, match=r"output='text': set it to one of str, bytes, packed"):
        small_blocks(output="text")


def test_refuses_shards_of_several_formats(tmp_path: Path) -> None:
    shards = [Shard(name=name, path=tmp_path / name, size_bytes=1) for name in ("a.txt", "b.jsonl")]
    with pytest.raises(RecordError, match=r"a\.txt \(lines\); b\.jsonl \(json_lines\): the shards"):
        RecordLoader(shards, settings=small_blocks(), part=0, parts=1)


def test_a_format_may_be_chosen_whatever_the_endings(tmp_path: Path) -> None:
    write_shards(tmp_path, {"a.jsonl": b"a\n", "b.log": b"b\n", "c": b"c"})
    shards = find_shards(tmp_path, chosen_format="lines")
    loader = RecordLoader(shards, settings=small_blocks(format="lines"), part=0, parts=1)
    assert sorted(line for made in loader.epoch(0) for line in made.data) == ["a", "b", "c"]
