import tarfile
from pathlib import Path

import pytest

from tests.unit.records.formats.shard_files import blocks_of, cut_short, write_shard
from tests.unit.records.formats.tar_files import archive, pairs, special
from training.records.errors import RecordError
from training.records.formats.tar import TarFormat


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        (tarfile.SYMTYPE, "a symbolic link"),
        (tarfile.LNKTYPE, "a hard link"),
        (tarfile.FIFOTYPE, "a pipe"),
        (b"S", "a sparse file"),
        (b"Q", "of the unknown type b'Q'"),
    ],
)
def test_what_is_no_regular_file_is_refused(tmp_path: Path, kind: bytes, what: str) -> None:
    shard = write_shard(tmp_path, "a.tar", archive([*pairs(0, 3), special("b.x", kind)]))
    with pytest.raises(RecordError, match=rf"^a\.tar: the member 'b\.x' is {what}"):
        TarFormat(block_bytes=1).index(shard, count=True)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a.x", "README"], "the member 'README' has no ending"),
        (["a.x", "a."], "the member 'a.' has no ending"),
        (["README."], "the member 'README.' has no ending"),
        (["d.e/README"], "the member 'd.e/README' has no ending"),
        (["a.x", "a.y", "a.x"], "the member 'a.x' comes twice"),
        (["a.x", "a.X"], "the member 'a.X' comes twice"),
        (["a.x", "b.x", "a.y"], "members of the key 'a' start at byte 2048, but others"),
        (["a.x", "b.x", "a.x", "b.y"], "members of the key 'a' start at byte 2048"),
    ],
)
def test_members_that_make_no_samples_are_refused(
    tmp_path: Path, names: list[str], message: str
) -> None:
    shard = write_shard(tmp_path, "a.tar", archive([(name, b"content") for name in names]))
    with pytest.raises(RecordError) as caught:
        TarFormat(block_bytes=1).index(shard, count=True)
    assert str(caught.value).startswith(f"a.tar: {message}")


def test_a_name_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    content = archive([("key.x", b"")]).replace(b"key.x", b"k\xffy.x")
    content = content.replace(_sum_of(content, b"key.x"), _sum_of(content, b"k\xffy.x"))
    shard = write_shard(tmp_path, "a.tar", content)
    with pytest.raises(RecordError, match=r"member 'k\\\\xffy\.x' is not named in UTF-8"):
        TarFormat(block_bytes=1).index(shard, count=True)


def _sum_of(content: bytes, name: bytes) -> bytes:
    header = name.ljust(100, b"\0") + content[100:148] + b" " * 8 + content[156:512]
    return b"%06o\0" % sum(header)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("bytes_left", [1, 511, 512, 700, 1024, 5000, 10_240, 76_800, 77_311])
def test_a_cut_archive_is_refused_by_name(tmp_path: Path, bytes_left: int) -> None:
    shard = write_shard(tmp_path, "a.tar", archive(pairs(0, 30)))
    assert shard.size_bytes > 77_312
    cut = cut_short(shard, bytes_left)
    with pytest.raises(RecordError, match=r"^a\.tar is no whole tar archive: it ends at byte \d+"):
        TarFormat(block_bytes=1).index(cut, count=True)


@pytest.mark.usefixtures("way")
def test_archives_joined_by_appending_are_refused(tmp_path: Path) -> None:
    shard = write_shard(tmp_path, "a.tar", archive(pairs(0, 3)) + archive(pairs(3, 3)))
    with pytest.raises(RecordError, match=r"its end is marked at byte \d+, but there is more"):
        TarFormat(block_bytes=1).index(shard, count=True)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("place", [3, 110, 125, 148, 156, 257, 400])
def test_a_changed_header_is_refused_by_name(tmp_path: Path, place: int) -> None:
    content = bytearray(archive(pairs(0, 30)))
    content[5 * 2560 + place] ^= 0x41
    shard = write_shard(tmp_path, "a.tar", bytes(content))
    with pytest.raises(RecordError, match=r"^a\.tar"):
        TarFormat(block_bytes=1).index(shard, count=True)


def test_bytes_that_are_no_archive_are_refused(tmp_path: Path) -> None:
    for content in (b"x", b"text\n" * 1000, bytes(range(256)) * 40):
        shard = write_shard(tmp_path, "a.tar", content)
        with pytest.raises(RecordError, match=r"^a\.tar is no whole tar archive"):
            TarFormat(block_bytes=1).index(shard, count=True)


def test_a_file_that_shrank_is_refused(tmp_path: Path) -> None:
    shard = write_shard(tmp_path, "a.tar", archive(pairs(0, 30)))
    tar = TarFormat(block_bytes=4000)
    blocks = blocks_of(tar, [shard])
    cut_short(shard, 9000)
    with pytest.raises(RecordError, match=r"a\.tar changed after the shards were listed"):
        tar.read(blocks)


def test_blocks_that_are_no_longer_samples_are_refused(tmp_path: Path) -> None:
    shard = write_shard(tmp_path, "a.tar", archive(pairs(0, 30)))
    tar = TarFormat(block_bytes=4000)
    blocks = blocks_of(tar, [shard])
    write_shard(
        tmp_path,
        "a.tar",
        archive(pairs(0, 15, size=1900))[: shard.size_bytes].ljust(shard.size_bytes, b"\0"),
    )
    with pytest.raises(RecordError, match=r"^a\.tar"):
        tar.read(blocks)
