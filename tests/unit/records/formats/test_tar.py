import io
import logging
import tarfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.unit.records.formats.shard_files import (
    blocks_of,
    counts_and_lengths,
    cut_short,
    listed,
    read_all,
    write_shard,
)
from tests.unit.records.formats.tar_files import archive, pairs, special
from training.records.errors import RecordError
from training.records.formats import tar as tar_module
from training.records.formats import tar_index
from training.records.formats.protocol import FormatSettings
from training.records.formats.registry import make_format
from training.records.formats.tar import TarFormat
from training.records.reading import fill
from training.records.shards import Shard

FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}
any_format = pytest.mark.parametrize("kind", FORMATS.values(), ids=FORMATS)


@pytest.fixture
def arrays_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where numpy leaves an archive to the walk."""

    def unexpected(*_: object) -> None:
        raise AssertionError("left to the walk")

    for module in (tar_module, tar_index):
        monkeypatch.setattr(module, "_by_walking", unexpected)


def keys(shard_format: TarFormat, shards: Sequence[Shard]) -> list[str]:
    return [sample["__key__"] for sample in read_all(shard_format, shards)]


@any_format
@pytest.mark.usefixtures("way")
def test_members_of_one_key_are_a_sample(tmp_path: Path, kind: int) -> None:
    shard = write_shard(tmp_path, "a.tar", archive(pairs(0, 50), kind))
    samples = read_all(TarFormat(block_bytes=4000), [shard])
    assert samples == [
        {"__key__": f"{n:04}", "bin": b"%04d" % n * 175, "cls": b"%d" % n} for n in range(50)
    ]


@any_format
@pytest.mark.usefixtures("arrays_only")
def test_plain_archives_are_read_by_arrays(tmp_path: Path, kind: int) -> None:
    members = [("./a/b.c/x.tar.GZ", b"1"), ("./a/b.c/x.cls", b""), ("./a/b.c/y.jpg", b"2" * 512)]
    content = archive([special("./a", tarfile.DIRTYPE), *members, *pairs(0, 700)], kind)
    shard = write_shard(tmp_path, "a.tar", content)
    samples = read_all(TarFormat(block_bytes=4000), [shard])
    assert samples[0] == {"__key__": "./a/b.c/x", "tar.gz": b"1", "cls": b""}
    assert samples[1] == {"__key__": "./a/b.c/y", "jpg": b"2" * 512}
    assert len(samples) == 702


@pytest.mark.usefixtures("arrays_only")
def test_pax_records_that_tell_times_are_read_by_arrays(tmp_path: Path) -> None:
    content = archive(pairs(0, 700), tarfile.PAX_FORMAT, mtime=1.5)
    assert b"mtime=1.5" in content
    shard = write_shard(tmp_path, "a.tar", content)
    tar = TarFormat(block_bytes=4000)
    assert keys(tar, [shard]) == [f"{n:04}" for n in range(700)]
    assert tar.index(shard, count=True).bounds[0] == 0  # The first header: that of the records.


@any_format
@pytest.mark.usefixtures("way")
def test_long_and_foreign_names_are_whole(tmp_path: Path, kind: int) -> None:
    folder = "f" * 90 + "/" + "g" * 60
    names = [f"{folder}/key.txt", f"{folder}/key.cls", "tür/ü.txt", "tür/ü.cls", "a.txt"]
    if kind != tarfile.USTAR_FORMAT:
        names += ["h" * 300 + ".txt", "h" * 300 + ".cls"]
    content = archive([(name, name.encode()) for name in names], kind)
    shard = write_shard(tmp_path, "a.tar", content)
    samples = read_all(TarFormat(block_bytes=1), [shard])
    expected = [f"{folder}/key", "tür/ü", "a", "h" * 300]
    assert [sample["__key__"] for sample in samples] == expected[: len(samples)]
    assert samples[0] == {
        "__key__": f"{folder}/key",
        "txt": f"{folder}/key.txt".encode(),
        "cls": f"{folder}/key.cls".encode(),
    }


@pytest.mark.usefixtures("way")
def test_blocks_start_with_samples_and_reach_their_size(tmp_path: Path) -> None:
    shard = write_shard(tmp_path, "a.tar", archive(pairs(0, 10, size=400)))
    # A sample is 2 headers and 2 contents of 1 unit each.
    index = TarFormat(block_bytes=5000).index(shard, count=False)
    assert index.bounds.tolist() == [0, 6144, 12288, 18432, 20480]
    assert index.counts is not None
    assert index.counts.tolist() == [3, 3, 3, 1]
    assert index.sizes is not None
    assert index.sizes.tolist() == [6144, 6144, 6144, 2048]
    assert TarFormat(block_bytes=1).index(shard, count=True).bounds.tolist() == list(
        range(0, 20481, 2048)
    )
    for block_bytes in (1, 5000, 1 << 20):
        counts, lengths = counts_and_lengths(TarFormat(block_bytes=block_bytes), [shard])
        assert counts == lengths


@pytest.mark.usefixtures("way")
def test_samples_come_as_taken(tmp_path: Path) -> None:
    shards = [write_shard(tmp_path, f"{n}.tar", archive(pairs(10 * n, 10))) for n in range(2)]
    tar = TarFormat(block_bytes=4000)
    records = tar.read(blocks_of(tar, shards))
    rows = records.take(np.array([19, 0, 11, 5]))
    assert [sample["cls"] for sample in rows.output("records")] == [b"19", b"0", b"11", b"5"]
    assert [rows.locate(n) for n in range(2)] == ["1.tar, sample 0019", "0.tar, sample 0000"]
    part = rows.slice(1, 3)
    assert [sample["__key__"] for sample in part.output("records")] == ["0000", "0011"]
    packed = part.output("packed")
    assert list(packed) == ["bin", "cls"]
    assert packed["cls"].offsets.tolist() == [0, 1, 3]
    assert packed["cls"].content.tobytes() == b"011"
    assert packed["bin"].content.tobytes() == b"0000" * 175 + b"0011" * 175
    table = part.slice(1, 2).output("arrow")
    assert table.column_names == ["__key__", "bin", "cls"]
    assert table.to_pylist() == [{"__key__": "0011", "bin": b"0011" * 175, "cls": b"11"}]


@pytest.mark.usefixtures("way")
def test_a_sample_may_lack_an_ending(tmp_path: Path) -> None:
    members = [("a.x", b"1"), ("a.y", b"2"), ("b.y", b"3"), ("c.y", b"4"), ("c.x", b"5")]
    shard = write_shard(tmp_path, "a.tar", archive(members))
    tar = TarFormat(block_bytes=1)
    rows = tar.read(blocks_of(tar, [shard])).take(np.arange(3))
    assert rows.output("records")[1:] == [
        {"__key__": "b", "y": b"3"},
        {"__key__": "c", "y": b"4", "x": b"5"},
    ]
    table = rows.output("arrow")
    assert table.column("x").to_pylist() == [b"1", None, b"5"]
    assert table.column("y").to_pylist() == [b"2", b"3", b"4"]
    # The columns are those of all shards, whatever these rows have.
    assert rows.slice(1, 2).output("arrow").column_names == ["__key__", "x", "y"]
    with pytest.raises(RecordError, match=r"^a\.tar, sample b: it has no member that ends in \.x"):
        rows.output("packed")
    with pytest.raises(RecordError, match="sample b"):
        rows.slice(1, 2).output("packed")
    assert rows.slice(2, 3).output("packed")["y"].content.tobytes() == b"4"
    with pytest.raises(ValueError, match="samples come as records, arrow, packed"):
        rows.output("str")


@pytest.mark.usefixtures("way")
def test_equal_keys_of_two_shards_are_two_samples(tmp_path: Path) -> None:
    shards = [
        write_shard(tmp_path, "a.tar", archive([("k.x", b"1")])),
        write_shard(tmp_path, "b.tar", archive([("k.y", b"2")])),
        write_shard(tmp_path, "c.tar", archive([("k.y", b"3")])),
    ]
    assert read_all(TarFormat(block_bytes=1), shards) == [
        {"__key__": "k", "x": b"1"},
        {"__key__": "k", "y": b"2"},
        {"__key__": "k", "y": b"3"},
    ]


@pytest.mark.usefixtures("way")
def test_an_archive_inside_an_archive_is_content(tmp_path: Path) -> None:
    inner = archive(pairs(0, 3))
    members = [("a.tar", inner), ("a.cls", b"0"), ("b.tar", inner), ("b.cls", b"1")]
    shard = write_shard(tmp_path, "outer.tar", archive(members))
    assert read_all(TarFormat(block_bytes=1), [shard]) == [
        {"__key__": "a", "tar": inner, "cls": b"0"},
        {"__key__": "b", "tar": inner, "cls": b"1"},
    ]


def test_large_members_are_passed_over_by_the_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shard = write_shard(tmp_path, "a.tar", archive(pairs(0, 20, size=1 << 20)))
    read: list[int] = []

    def counted(file: io.FileIO, of: Shard, offset_bytes: int, buffer: memoryview) -> None:
        read.append(len(buffer))
        fill(file, of, offset_bytes, buffer)

    for module in ("tar_index", "tar_samples"):
        monkeypatch.setattr(f"training.records.formats.{module}.fill", counted)
    counts = TarFormat(block_bytes=1).index(shard, count=True).counts
    assert counts is not None
    assert counts.tolist() == [1] * 20
    assert sum(read) < shard.size_bytes / 10


def test_folders_and_hidden_members_are_no_samples(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    members: list[tuple[str, bytes] | tarfile.TarInfo] = [
        special("d", tarfile.DIRTYPE),
        ("._a.x", b"0"),
        ("a.x", b"1"),
        ("d/.hidden", b"2"),
        ("a.y", b"3"),
        ("__notes__/shard.json", b"4"),
        ("b.x", b"5"),
    ]
    shard = write_shard(tmp_path, "a.tar", archive(members))
    with caplog.at_level(logging.WARNING):
        samples = read_all(TarFormat(block_bytes=1), [shard])
    assert samples == [{"__key__": "a", "x": b"1", "y": b"3"}, {"__key__": "b", "x": b"5"}]
    assert caplog.messages == [
        "a.tar: skipped hidden members: '._a.x', 'd/.hidden', '__notes__/shard.json'"
    ]


def test_an_archive_may_end_with_one_empty_unit(tmp_path: Path) -> None:
    shard = write_shard(tmp_path, "a.tar", archive(pairs(0, 30)))
    tar = TarFormat(block_bytes=1 << 20)
    end = int(tar.index(shard, count=True).bounds[-1])
    assert keys(tar, [cut_short(shard, end + 512)]) == [f"{n:04}" for n in range(30)]


@pytest.mark.usefixtures("way")
def test_an_empty_archive_has_no_blocks(tmp_path: Path) -> None:
    shard = write_shard(tmp_path, "a.tar", archive([]))
    index = TarFormat(block_bytes=1).index(shard, count=True)
    assert index.bounds.tolist() == [0]
    assert index.counts is not None
    assert index.counts.tolist() == []
    nothing = TarFormat(block_bytes=1).read([])
    assert nothing.lengths.tolist() == []
    assert nothing.take(np.arange(0)).output("records") == []


def test_sizes_of_8_gib_and_more_are_understood(tmp_path: Path) -> None:
    for kind in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        info = tarfile.TarInfo("a.bin")
        info.size = 9 << 30
        header = info.tobuf(kind)
        with (tmp_path / "a.tar").open("wb") as file:
            file.write(header)
            file.truncate(len(header) + info.size + 1024)  # A sparse file: no bytes on the disk.
        shard = listed(tmp_path, "a.tar")
        index = TarFormat(block_bytes=1).index(shard, count=True)
        assert index.bounds.tolist() == [0, len(header) + info.size]


def test_the_registry_makes_it_with_its_block_size(tmp_path: Path) -> None:
    shard = write_shard(tmp_path, "a.tar", archive(pairs(0, 10, size=400)))
    made = make_format("tar", FormatSettings(block_bytes=5000))
    assert made.name == "tar"
    assert len(made.index(shard, count=True).bounds) == 5
