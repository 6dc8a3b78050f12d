import json
import subprocess
import sys
import threading
import tracemalloc
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.unit.records.host_data import (
    host_loaders,
    ids_of,
    lines_of,
    numbered,
    records_of,
    write_shards,
)
from training.records import (
    Batch,
    LoaderSettings,
    RecordError,
    RecordLoader,
    Shard,
    find_shards,
    windows,
)
from training.records import epoch as epoch_module
from training.records.formats.protocol import BlockRef
from training.records.table import BlockTable


def _settings(**changes: Any) -> LoaderSettings:  # noqa: ANN401 - any of the settings
    return LoaderSettings(**{"batch_size": 4, "seed": 3, "block_bytes": 64} | changes)


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A host with 61 records in three uneven shards."""
    return write_shards(
        tmp_path / "train",
        {
            "a.jsonl": numbered(40),
            "b.jsonl": numbered(1, first=40),
            "deep/c.jsonl": numbered(20, first=41),
        },
    )


@pytest.mark.parametrize("parts", [1, 2, 3, 8])
def test_parts_hold_each_record_once(host: Path, parts: int) -> None:
    loaders = host_loaders(host, _settings(), parts=parts)
    counts = loaders[0].counts
    assert all(loader.counts == counts for loader in loaders)
    assert [len(ids_of([loader])) for loader in loaders] == list(counts)
    assert max(counts) - min(counts) <= 1
    assert sorted(ids_of(loaders)) == list(range(61))


def test_the_hosts_order_does_not_depend_on_the_parts(host: Path) -> None:
    alone = ids_of(host_loaders(host, _settings()))
    for parts in (2, 3, 8):
        assert ids_of(host_loaders(host, _settings(), parts=parts)) == alone
    assert ids_of(host_loaders(host, _settings(batch_size=7))) == alone


def test_the_order_is_repeated_and_changes_with_epoch_and_seed(host: Path) -> None:
    (loader,) = host_loaders(host, _settings())
    first = ids_of([loader], 0)
    assert ids_of([loader], 1) != first
    assert ids_of([loader], 0) == first
    assert ids_of(host_loaders(host, _settings())) == first
    assert ids_of(host_loaders(host, _settings(seed=4))) != first


def test_two_epochs_may_be_read_side_by_side(host: Path) -> None:
    (loader,) = host_loaders(host, _settings())
    pairs = zip(loader.epoch(0), loader.epoch(1), strict=True)
    sides = [([r["id"] for r in a.records], [r["id"] for r in b.records]) for a, b in pairs]
    assert [number for a, _ in sides for number in a] == ids_of([loader], 0)
    assert [number for _, b in sides for number in b] == ids_of([loader], 1)


def test_without_shuffle_the_order_is_that_of_the_data(host: Path) -> None:
    loaders = host_loaders(host, _settings(shuffle=False), parts=3)
    assert ids_of(loaders) == list(range(61))
    assert ids_of(loaders, 1) == list(range(61))


def test_batches_are_full_but_for_the_last(host: Path) -> None:
    (loader,) = host_loaders(host, _settings(batch_size=8))
    assert [len(batch) for batch in loader.epoch(0)] == [8] * 7 + [5]


def test_a_batch_says_where_a_record_came_from(host: Path) -> None:
    lines = {record["id"]: record for record in records_of(host_loaders(host, _settings()))}
    assert len(lines) == 61
    places: dict[int, str] = {}
    for loader in host_loaders(host, _settings(), parts=2):
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
    loaders = host_loaders(tmp_path, _settings(), parts=2)
    assert loaders[1].counts == (0, 0)
    assert list(loaders[1].epoch(0)) == []


def test_fewer_records_than_parts_leave_parts_empty(tmp_path: Path) -> None:
    write_shards(tmp_path, {"a.jsonl": numbered(2)})
    loaders = host_loaders(tmp_path, _settings(), parts=5)
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
    loaders = host_loaders(tmp_path, _settings(block_bytes=block_bytes), parts=2)
    assert sorted(ids_of(loaders)) == list(range(12))
    texts = {record["id"]: record.get("t", "") for record in records_of(loaders)}
    assert texts[8] == "\u2028\u2029\x85"
    assert len(texts[10]) == 300_000


@pytest.mark.parametrize(
    ("content", "line"),
    [(b'{"id": 0}\n\n', 2), (b"\n", 1), (b'\n{"id": 0}\n', 1), (b"\xef\xbb\xbf", 1)],
)
def test_an_empty_line_is_no_record(tmp_path: Path, content: bytes, line: int) -> None:
    write_shards(tmp_path, {"a.jsonl": content})
    with pytest.raises(RecordError, match=rf"^a\.jsonl, line {line}: an empty line\. Each line"):
        records_of(host_loaders(tmp_path, _settings()))


def test_refuses_a_shard_that_shrank_after_listing(host: Path) -> None:
    shards = find_shards(host)
    (host / "a.jsonl").write_bytes(numbered(3))
    with pytest.raises(RecordError, match=r"^a\.jsonl changed after the shards were listed"):
        RecordLoader(shards, settings=_settings(), part=0, parts=1)


def test_refuses_a_shard_that_shrank_after_counting(host: Path) -> None:
    (loader,) = host_loaders(host, _settings())
    (host / "deep" / "c.jsonl").write_bytes(numbered(3))
    with pytest.raises(RecordError, match=r"^deep/c\.jsonl changed after the shards were listed"):
        ids_of([loader])


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
        _settings(**changes)


@pytest.mark.parametrize(("part", "parts"), [(1, 1), (-1, 2), (0, 0)])
def test_refuses_a_part_that_there_is_not(part: int, parts: int) -> None:
    with pytest.raises(ValueError, match=f"part={part} of parts={parts}: set part to the local"):
        RecordLoader((), settings=_settings(), part=part, parts=parts)


def test_refuses_a_negative_epoch_at_once(host: Path) -> None:
    (loader,) = host_loaders(host, _settings())
    with pytest.raises(ValueError, match="epoch=-1: epochs are counted from 0"):
        loader.epoch(-1)


def _peak_bytes(loader: RecordLoader) -> int:
    tracemalloc.start()
    for _ in loader.epoch(0):
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_memory_is_that_of_a_window_not_of_the_data(tmp_path: Path) -> None:
    settings = _settings(block_bytes=4096, window_blocks=8)
    peaks = []
    for shards in (4, 16):
        contents = {f"{n}.jsonl": numbered(2000) for n in range(shards)}
        (loader,) = host_loaders(write_shards(tmp_path / str(shards), contents), settings)
        peaks.append(_peak_bytes(loader))
    window_bytes = 8 * 4096
    assert peaks[1] - peaks[0] < window_bytes
    # Two windows, each with half as much again read beyond its blocks and 40 bytes for each line,
    # which has about as many itself.
    assert peaks[1] < 11 * window_bytes


def test_opens_one_shard_at_a_time(tmp_path: Path) -> None:
    write_shards(tmp_path, {f"{n}.jsonl": numbered(1, first=n) for n in range(300)})
    program = (
        "import resource, sys; from pathlib import Path\n"
        "from training.records import LoaderSettings, RecordLoader, find_shards\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))\n"
        "settings = LoaderSettings(batch_size=7, seed=1, window_blocks=256)\n"
        "shards = find_shards(Path(sys.argv[1]))\n"
        "loader = RecordLoader(shards, settings=settings, part=0, parts=1)\n"
        "print(sum(len(batch) for batch in loader.epoch(0)))\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (result.stdout, result.stderr) == ("300\n", "")


def test_each_window_is_read_once(host: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[list[int]] = []
    refs = BlockTable.refs

    def counted(table: BlockTable, numbers: NDArray[np.int64]) -> list[BlockRef]:
        read.append(numbers.tolist())
        return refs(table, numbers)

    monkeypatch.setattr(BlockTable, "refs", counted)
    (loader,) = host_loaders(host, _settings(window_blocks=3))
    ids_of([loader])
    numbers = [number for window in read for number in window]
    assert len(read) > 3
    assert sorted(numbers) == list(range(len(numbers)))
    assert all(a < b for window in read for a, b in pairwise(window))


def test_the_check_of_counts_is_what_notices_moved_lines(
    host: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (loader,) = host_loaders(host, _settings(block_bytes=1 << 10))
    content = (host / "a.jsonl").read_bytes()
    (host / "a.jsonl").write_bytes(content.replace(b"}\n{", b"},{", 1))
    with pytest.raises(
        RecordError, match=r"^a\.jsonl changed.*a block at 0 had \d+ records and has"
    ):
        ids_of([loader])
    monkeypatch.setattr(windows, "_check_counts", lambda *_: None)
    with pytest.raises(RecordError, match="not valid JSON"):
        ids_of([loader])


def test_closing_or_dropping_an_epoch_ends_its_threads(host: Path) -> None:
    (loader,) = host_loaders(host, _settings(batch_size=1, window_blocks=1))
    before = threading.active_count()
    epoch = loader.epoch(0)
    next(epoch)
    assert threading.active_count() > before
    epoch.close()
    assert threading.active_count() == before
    assert list(epoch) == []
    next(loader.epoch(1))
    del epoch
    next(loader.epoch(2))
    loader.epoch(3)
    assert threading.active_count() == before


@pytest.mark.parametrize("output", ["records", "str", "bytes", "packed", "arrow"])
@pytest.mark.parametrize("batch_size", [1, 3, 7, 61, 1000])
def test_every_output_has_the_same_records_in_the_same_order(
    host: Path, output: str, batch_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(epoch_module, "CHUNK_RECORDS", 10)
    settings = _settings(output=output, batch_size=batch_size, window_blocks=5, seed=4)
    (loader,) = host_loaders(host, settings)
    expected_settings = _settings(batch_size=4, window_blocks=5, seed=4, prefetch=False)
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
        host_loaders(tmp_path, _settings(output="records"))
    with pytest.raises(ValueError, match=r"output='text': set it to one of str, bytes, packed"):
        _settings(output="text")


def test_refuses_shards_of_several_formats(tmp_path: Path) -> None:
    shards = [Shard(name=name, path=tmp_path / name, size_bytes=1) for name in ("a.txt", "b.jsonl")]
    with pytest.raises(RecordError, match=r"a\.txt \(lines\); b\.jsonl \(json_lines\): the shards"):
        RecordLoader(shards, settings=_settings(), part=0, parts=1)


def test_a_format_may_be_chosen_whatever_the_endings(tmp_path: Path) -> None:
    write_shards(tmp_path, {"a.jsonl": b"a\n", "b.log": b"b\n", "c": b"c"})
    shards = find_shards(tmp_path, chosen_format="lines")
    loader = RecordLoader(shards, settings=_settings(format="lines"), part=0, parts=1)
    assert sorted(line for made in loader.epoch(0) for line in made.data) == ["a", "b", "c"]


@pytest.mark.parametrize("prefetch", [True, False])
@pytest.mark.parametrize("output", ["str", "packed", "arrow", "records"])
def test_damage_after_some_batches_ends_the_epoch_with_the_shards_name(
    tmp_path: Path,
    prefetch: bool,  # noqa: FBT001 - drawn
    output: str,
) -> None:
    write_shards(tmp_path, {f"{n}.jsonl": numbered(200) for n in range(5)})
    settings = _settings(prefetch=prefetch, output=output, window_blocks=2, shuffle=False)
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
    settings = _settings(shuffle=False, block_bytes=1 << 17, output=output, prefetch=prefetch)
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
    settings = _settings(shuffle=False, block_bytes=1 << 17, output="arrow", batch_size=2)
    (loader,) = host_loaders(tmp_path, settings)
    with pytest.raises(RecordError, match=r"^a\.jsonl, line"):
        list(loader.epoch(0))


@pytest.mark.slow
def test_twenty_thousand_shards_need_few_open_files(tmp_path: Path) -> None:
    write_shards(tmp_path, {f"{n % 100}/{n}.jsonl": numbered(1, first=n) for n in range(20_000)})
    program = (
        "import resource, sys; from pathlib import Path\n"
        "from training.records import LoaderSettings, RecordLoader, find_shards\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))\n"
        "shards = find_shards(Path(sys.argv[1]))\n"
        "settings = LoaderSettings(batch_size=32, seed=1)\n"
        "loader = RecordLoader(shards, settings=settings, part=0, parts=1)\n"
        "print(len({r['id'] for batch in loader.epoch(0) for r in batch.records}))\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=110)
    assert (result.stdout, result.stderr) == ("20000\n", "")
