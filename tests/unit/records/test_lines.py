import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.unit.records.host_data import host_loaders, write_shards
from training.records import LoaderSettings, Packed, RecordError, find_shards
from training.records.formats import lines
from training.records.formats.protocol import BlockRef
from training.records.packed import pack

LINES = ["one", "", "zwei é", "\u2028three\x0b\x85", "\U0001f600", "x" * 5000, "\rlast"]


def _settings(**changes: Any) -> LoaderSettings:  # noqa: ANN401 - any of the settings
    return LoaderSettings(
        **{"batch_size": 3, "seed": 1, "shuffle": False, "block_bytes": 16} | changes
    )


def _data(folder: Path, **changes: Any) -> list[Any]:  # noqa: ANN401 - any of the settings
    (loader,) = host_loaders(folder, _settings(**changes))
    return [batch.data for batch in loader.epoch(0)]


@pytest.fixture
def host(tmp_path: Path) -> Path:
    content = "\ufeff" + "\r\n".join(LINES)
    return write_shards(tmp_path / "train", {"a.txt": content.encode(), "b.txt": b"b\n"})


def test_lines_as_text(host: Path) -> None:
    expected = [*LINES, "b"]
    assert _data(host) == [expected[:3], expected[3:6], expected[6:]]
    assert _data(host, output="str") == _data(host)


def test_lines_as_bytes(host: Path) -> None:
    assert [line for data in _data(host, output="bytes") for line in data] == [
        line.encode() for line in [*LINES, "b"]
    ]


def test_lines_as_packed_bytes(host: Path) -> None:
    packed = _data(host, output="packed")
    assert all(isinstance(data, Packed) and data.offsets[0] == 0 for data in packed)
    assert [len(data) for data in packed] == [3, 3, 2]
    assert [data.content.tobytes().decode() for data in packed] == [
        "".join([*LINES, "b"][first : first + 3]) for first in (0, 3, 6)
    ]
    assert packed[0].offsets.tolist() == [0, 3, 3, 10]
    assert (packed[0].content.dtype, packed[0].offsets.dtype) == (np.uint8, np.int64)


def test_lines_as_an_arrow_array(host: Path) -> None:
    arrays = _data(host, output="arrow")
    assert all(array.type == pa.large_string() for array in arrays)
    assert [line for array in arrays for line in array.to_pylist()] == [*LINES, "b"]


BAD = [b"\xff", b"a\xc3", b"\xf0\x9f\x98", b"ab\xed\xa0\x80", "é".encode("utf-16")]


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("output", ["str", "arrow"])
@pytest.mark.parametrize("block_bytes", [1, 16, 1 << 17])
def test_refuses_what_is_not_utf8_by_shard_line_and_byte(
    tmp_path: Path, bad: bytes, output: str, block_bytes: int
) -> None:
    write_shards(tmp_path, {"a.txt": b"ok\n", "deep/b.txt": b"good\n" + bad + b"\ngood\n"})
    try:
        bad.decode()
    except UnicodeDecodeError as error:
        byte = 5 + error.start
    with pytest.raises(RecordError) as caught:
        _data(tmp_path, output=output, block_bytes=block_bytes)
    assert str(caught.value).startswith(
        f"deep/b.txt, line 2: byte {byte} of deep/b.txt is not UTF-8 ("
    )
    assert 'set errors to "replace"' in str(caught.value)


@pytest.mark.parametrize("output", ["str", "arrow"])
def test_may_replace_what_is_not_utf8(tmp_path: Path, output: str) -> None:
    write_shards(tmp_path, {"a.txt": b"\n".join([b"good", *BAD, b"last"])})
    data = _data(tmp_path, output=output, errors="replace")
    lines = [line for part in data for line in (part if output == "str" else part.to_pylist())]
    assert lines == [bad.decode(errors="replace") for bad in [b"good", *BAD, b"last"]]


@pytest.mark.parametrize("output", ["bytes", "packed"])
def test_bytes_are_handed_out_as_they_are(tmp_path: Path, output: str) -> None:
    write_shards(tmp_path, {"a.txt": b"\n".join(BAD)})
    data = _data(tmp_path, output=output)
    parts = [part if output == "bytes" else [part.content.tobytes()] for part in data]
    assert b"".join(b"".join(part) for part in parts) == b"".join(BAD)


def test_refuses_an_unknown_treatment_of_errors() -> None:
    with pytest.raises(ValueError, match="errors='ignore': set it to 'strict' or 'replace'"):
        _settings(errors="ignore")


@pytest.mark.parametrize("kind", [pa.string(), pa.binary(), pa.large_string(), pa.large_binary()])
@pytest.mark.parametrize("first", [0, 2, 5])
def test_packs_arrow_arrays_and_their_slices(kind: pa.DataType, first: int) -> None:
    array = pa.array(["one", "", "zwei é", "x" * 100, "five"], pa.string()).cast(kind)[first:]
    packed = pack(array)
    assert packed.offsets.dtype == np.int64
    found = [
        packed.content[start:stop].tobytes().decode()
        for start, stop in zip(packed.offsets[:-1], packed.offsets[1:], strict=True)
    ]
    assert found == ["one", "", "zwei é", "x" * 100, "five"][first:]
    assert len(packed) == len(array)


def test_refuses_to_pack_nulls_and_other_types() -> None:
    with pytest.raises(ValueError, match="1 nulls: fill them first"):
        pack(pa.array(["a", None]))
    with pytest.raises(ValueError, match="type int64: pack strings or bytes"):
        pack(pa.array([1]))


def test_copied_lines_take_no_more_than_their_own_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Arrow's pool kept many times as much where it grew arrays while copying, or held several.
    pool = pa.proxy_memory_pool(pa.default_memory_pool())
    monkeypatch.setattr(lines, "_POOL", pool)
    sizes = np.random.default_rng(0).integers(1, 400, 20_000)
    content = b"".join(b"%s\n" % (b"x" * size) for size in sizes.tolist())
    (shard,) = find_shards(write_shards(tmp_path, {"a.txt": content}))
    made = lines.LinesFormat(block_bytes=1 << 20, errors="strict")
    records = made.read([BlockRef(shard, 0, shard.size_bytes)])
    order = np.random.default_rng(1).permutation(len(sizes))
    held = [records.take(order[first : first + 5_000]) for first in range(0, 20_000, 5_000)]
    largest = max(rows.array.nbytes for rows in held)
    assert largest > lines.LEAST_MAPPED_BYTES
    assert pool.bytes_allocated() == 0
    assert pool.max_memory() <= 1.1 * largest
    taken = [line for rows in held for line in rows.output("bytes")]
    assert taken == [b"x" * int(sizes[index]) for index in order]


def test_counting_leaves_no_memory_with_the_allocator(tmp_path: Path) -> None:
    # What it had of it stayed behind the counts of a shard: more for more shards, by 3 MB for 4 GB.
    (shard,) = find_shards(write_shards(tmp_path, {"a.txt": b"line\n" * 400_000}))
    made = lines.LinesFormat(block_bytes=128 << 10, errors="strict")
    tracemalloc.start()
    index = made.index(shard, count=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert index.counts is not None
    assert index.counts.sum() == 400_000
    assert peak < 256 << 10
