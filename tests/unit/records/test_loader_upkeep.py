"""What a loader takes: memory, open files, threads, reads."""

import subprocess
import sys
import threading
import tracemalloc
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.unit.records.host_data import host_loaders, ids_of, numbered, small_blocks, write_shards
from training.records import RecordLoader
from training.records import epoch as epoch_module
from training.records.formats.lines import LineRecords, LineRows
from training.records.formats.protocol import BlockRef
from training.records.table import BlockTable


def _peak_bytes(loader: RecordLoader) -> int:
    tracemalloc.start()
    for _ in loader.epoch(0):
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_memory_is_that_of_a_window_not_of_the_data(tmp_path: Path) -> None:
    settings = small_blocks(block_bytes=4096, window_blocks=8)
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
    (loader,) = host_loaders(host, small_blocks(window_blocks=3))
    ids_of([loader])
    numbers = [number for window in read for number in window]
    assert len(read) > 3
    assert sorted(numbers) == list(range(len(numbers)))
    assert all(a < b for window in read for a, b in pairwise(window))


def test_closing_or_dropping_an_epoch_ends_its_threads(host: Path) -> None:
    (loader,) = host_loaders(host, small_blocks(batch_size=1, window_blocks=1))
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


@pytest.mark.parametrize(
    ("batch_size", "chunk_records", "chunk_bytes", "expected"),
    [(4, 10, 1 << 20, 8), (1, 10, 1 << 20, 10), (16, 10, 1 << 20, 16), (2, 100, 170, 4)],
)
def test_chunks_are_whole_batches_of_so_many_records_and_bytes(
    host: Path,
    monkeypatch: pytest.MonkeyPatch,
    batch_size: int,
    chunk_records: int,
    chunk_bytes: int,
    expected: int,
) -> None:
    taken: list[int] = []

    def noted(records: LineRecords, indices: NDArray[np.int64]) -> LineRows:
        taken.append(len(indices))
        return take(records, indices)

    take = LineRecords.take
    monkeypatch.setattr(LineRecords, "take", noted)
    monkeypatch.setattr(epoch_module, "CHUNK_RECORDS", chunk_records)
    monkeypatch.setattr(epoch_module, "CHUNK_BYTES", chunk_bytes)
    (loader,) = host_loaders(host, small_blocks(batch_size=batch_size, window_blocks=1000))
    assert sum(len(batch) for batch in loader.epoch(0)) == sum(taken)
    # The last chunk of a window has what is left; the first windows are short.
    assert max(taken) == expected
