import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.records.host_data import write_shards
from training.records import RecordError, Shard, find_shards
from training.records.shards import digest_listing

ONE = b'{"id": 1}\n'


def test_lists_nested_shards_by_the_bytes_of_their_names(tmp_path: Path) -> None:
    names = ["b.jsonl", "a/z.jsonl", "a-.jsonl", "\U0001f600.jsonl", "\uffee.jsonl", "B 1=2+.jsonl"]
    write_shards(tmp_path, dict.fromkeys(names, ONE))
    shards = find_shards(tmp_path)
    assert [shard.name for shard in shards] == sorted(names, key=str.encode)
    assert [shard.name for shard in shards][:3] == ["B 1=2+.jsonl", "a-.jsonl", "a/z.jsonl"]
    assert shards[2].path == tmp_path / "a" / "z.jsonl"
    assert {shard.size_bytes for shard in shards} == {len(ONE)}


def test_an_empty_directory_is_a_host_without_data(tmp_path: Path) -> None:
    assert find_shards(tmp_path) == ()


def test_skips_hidden_and_zero_byte_files_with_a_log_line_each(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_shards(
        tmp_path,
        {
            "a.jsonl": ONE,
            "empty.jsonl": b"",
            "_SUCCESS": b"",
            ".a.jsonl.crc": b"x",
            ".ipynb_checkpoints/b.jsonl": ONE,
            "deep/.c.jsonl": ONE,
        },
    )
    with caplog.at_level(logging.WARNING):
        assert [shard.name for shard in find_shards(tmp_path)] == ["a.jsonl"]
    hidden, empty = sorted(caplog.messages)
    assert hidden.startswith("skipped hidden files")
    assert empty.startswith("skipped zero-byte files")
    assert all(name in hidden for name in (".a.jsonl.crc", ".ipynb_checkpoints", "deep/.c"))
    assert "_SUCCESS" in empty
    assert "empty.jsonl" in empty


def test_logs_nothing_when_nothing_is_skipped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_shards(tmp_path, {"a.jsonl": ONE})
    find_shards(tmp_path)
    assert caplog.messages == []


def test_refuses_other_endings_by_name(tmp_path: Path) -> None:
    write_shards(tmp_path, {"a.jsonl": ONE, "b.xls": ONE, "c/_SUCCESS": ONE, "d.jsonl.bz2": ONE})
    with pytest.raises(RecordError, match=r"\.jsonl.*Convert, rename or remove") as caught:
        find_shards(tmp_path)
    assert all(name in str(caught.value) for name in ("b.xls", "c/_SUCCESS", "d.jsonl.bz2"))
    assert "a.jsonl" not in str(caught.value)


def test_refuses_mixed_formats_by_name(tmp_path: Path) -> None:
    write_shards(tmp_path, {"a.jsonl": ONE, "b.csv": ONE, "c.NDJSON": ONE, "d.jsonl.gz": ONE})
    with pytest.raises(RecordError, match=r"must be of one format. Convert or remove") as caught:
        find_shards(tmp_path)
    kinds = ["a.jsonl, c.NDJSON (json_lines)", "b.csv (csv)", "d.jsonl.gz (compressed_json_lines)"]
    assert all(kind in str(caught.value) for kind in kinds)


def test_a_chosen_format_leaves_endings_free_but_for_compressed_files(tmp_path: Path) -> None:
    write_shards(tmp_path, {"a.csv": ONE, "b": ONE})
    assert len(find_shards(tmp_path, chosen_format="lines")) == 2
    write_shards(tmp_path, {"c.gz": ONE})
    with pytest.raises(RecordError, match=r"c\.gz \(compressed_lines\)"):
        find_shards(tmp_path, chosen_format="lines")


def test_names_a_few_of_many_refused_files(tmp_path: Path) -> None:
    write_shards(tmp_path, {f"{n:02d}.xls": ONE for n in range(20)})
    with pytest.raises(RecordError, match="and 15 more"):
        find_shards(tmp_path)


def test_refuses_what_is_not_a_regular_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(RecordError, match=r"pipe\.jsonl"):
        find_shards(tmp_path)


def test_follows_links_to_files_and_refuses_other_links(tmp_path: Path) -> None:
    elsewhere = write_shards(tmp_path / "elsewhere", {"a.jsonl": ONE})
    channel = write_shards(tmp_path / "channel", {})
    (channel / "link.jsonl").symlink_to(elsewhere / "a.jsonl")
    assert [shard.size_bytes for shard in find_shards(channel)] == [len(ONE)]
    (channel / "folder").symlink_to(elsewhere)
    with pytest.raises(RecordError, match=r"folder below .* is a link to a folder"):
        find_shards(channel)
    (channel / "folder").unlink()
    (channel / "gone.jsonl").symlink_to(elsewhere / "gone.jsonl")
    with pytest.raises(RecordError, match=r"gone\.jsonl below .* cannot be read"):
        find_shards(channel)


@pytest.mark.parametrize("kind", ["missing", "file"])
def test_refuses_a_directory_that_is_none(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "train"
    if kind == "file":
        path.write_bytes(ONE)
    with pytest.raises(RecordError, match=r"train is not a directory.*check the channel's name"):
        find_shards(path)


def test_refuses_a_folder_that_cannot_be_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_shards(tmp_path, {"a.jsonl": ONE, "locked/b.jsonl": ONE})
    scandir = os.scandir

    def locked(path: str) -> Iterator[os.DirEntry[str]]:
        if path.endswith("locked"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", locked)
    with pytest.raises(RecordError, match=r"locked cannot be listed \(Permission denied\)"):
        find_shards(tmp_path)


def _shard(name: str, size_bytes: int) -> Shard:
    return Shard(name=name, path=Path("/nowhere") / name, size_bytes=size_bytes)


def test_the_digest_depends_on_names_and_sizes_only() -> None:
    listing = [_shard("a.jsonl", 12), _shard("b.jsonl", 3)]
    digest = digest_listing(listing)
    moved = [Shard(name=s.name, path=Path("/other"), size_bytes=s.size_bytes) for s in listing]
    assert digest == digest_listing(moved)
    assert 0 <= digest < 2**63
    others = [
        [],
        listing[:1],
        [_shard("a.jsonl", 13), _shard("b.jsonl", 3)],
        [_shard("a.jsonl", 3), _shard("b.jsonl", 12)],
        [_shard("c.jsonl", 12), _shard("b.jsonl", 3)],
        # The two shards' texts run into one another unless lengths are digested too.
        [_shard("a.jsonl3 7 b.jsonl", 12)],
    ]
    assert len({digest, *map(digest_listing, others)}) == len(others) + 1
