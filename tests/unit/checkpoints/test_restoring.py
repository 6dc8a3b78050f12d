import logging
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.checkpoints.rank_threads import on_ranks
from tests.unit.checkpoints.written import files_below, restore, save_steps
from training.checkpoints import CheckpointError, CheckpointIndex, find_newest
from training.checkpoints.index import step_folder


def newest_steps(disk: Path, *, hosts: int = 2, devices: int = 2) -> set[int | None]:
    found = on_ranks(lambda group: find_newest(disk, group), hosts=hosts, devices=devices)
    return {None if index is None else index.step for index in found}


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """Steps 10, 20 and 30, as every host sees them after a restore."""
    save_steps(tmp_path, [10, 20, 30], keep=3)
    return restore(tmp_path)


def test_the_newest_is_found(disk: Path) -> None:
    assert newest_steps(disk) == {30}


@pytest.mark.parametrize(("hosts", "devices"), [(1, 1), (3, 1), (1, 8)])
def test_other_numbers_of_ranks_find_it_too(disk: Path, hosts: int, devices: int) -> None:
    assert newest_steps(disk, hosts=hosts, devices=devices) == {30}


def test_nothing_there_is_nothing_found(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert newest_steps(tmp_path / "nowhere") == {None}
    assert caplog.text == ""


def _shorten(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def _flip(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))


def _empty(file: Path) -> None:
    file.write_text("{}\n")


@pytest.mark.parametrize(
    ("damage", "name", "said"),
    [
        (Path.unlink, "rank-00003.pt", "rank-00003.pt: No such file or directory"),
        (_shorten, "rank-00002.pt", "rank-00002.pt has 19 bytes, not 20"),
        (_flip, "rank-00001.pt", "rank-00001.pt has another checksum"),
        (Path.unlink, "index.json", "index.json: No such file or directory"),
        (_shorten, "index.json", "index.json cannot be read"),
        (_empty, "index.json", "index.json has no version"),
    ],
)
def test_a_torn_one_falls_back_and_is_named(
    disk: Path,
    caplog: pytest.LogCaptureFixture,
    damage: Callable[[Path], None],
    name: str,
    said: str,
) -> None:
    file = step_folder(disk, 30) / name
    damage(file)
    if name == "index.json" and file.exists():
        _shorten(file)  # the last byte is a newline
    with caplog.at_level(logging.WARNING):
        assert newest_steps(disk) == {20}
    assert "The checkpoint of step 30" in caplog.text
    assert said in caplog.text


def test_one_that_is_torn_on_one_host_only_is_torn(tmp_path: Path) -> None:
    save_steps(tmp_path, [10, 20], keep=2)
    whole = restore(tmp_path)
    lacking = tmp_path / "lacking"
    shutil.copytree(whole, lacking)
    (step_folder(lacking, 20) / "rank-00000.pt").unlink()
    disks = {"algo-1": whole, "algo-2": lacking}
    found = on_ranks(lambda group: find_newest(disks[group.host], group))
    assert [index.step for index in found if index] == [10] * 4


def test_disks_that_nobody_restored_hold_no_checkpoint(tmp_path: Path) -> None:
    save_steps(tmp_path, [10])
    assert set(on_ranks(lambda group: find_newest(tmp_path / group.host, group))) == {None}


def test_nothing_complete_begins_anew(disk: Path, caplog: pytest.LogCaptureFixture) -> None:
    for step in (10, 20, 30):
        (step_folder(disk, step) / "index.json").unlink()
    with caplog.at_level(logging.WARNING):
        assert newest_steps(disk) == {None}
    assert "the training begins anew" in caplog.text


def test_another_release_is_not_misread(disk: Path) -> None:
    file = step_folder(disk, 30) / "index.json"
    file.write_text(file.read_text().replace('"version": 1', '"version": 2'))
    with pytest.raises(ValueError, match="version 2, this code reads 1"):
        CheckpointIndex.read(step_folder(disk, 30))
    # Going on from 20 would throw away what 30 holds, without anybody being told.
    with pytest.raises(CheckpointError, match=r"step 30 in .* another release .*version 2"):
        newest_steps(disk)


def test_another_release_is_named_where_a_host_lacks_its_index(disk: Path, tmp_path: Path) -> None:
    file = step_folder(disk, 30) / "index.json"
    file.write_text(file.read_text().replace('"version": 1', '"version": 2'))
    lacking = tmp_path / "lacking"
    shutil.copytree(disk, lacking)
    (step_folder(lacking, 30) / "index.json").unlink()
    disks = {"algo-1": disk, "algo-2": lacking}
    with pytest.raises(CheckpointError, match=r"another release .*\(algo-1: .*version 2"):
        on_ranks(lambda group: find_newest(disks[group.host], group))


@pytest.mark.parametrize("seed", range(5))
def test_whatever_a_sync_left_is_complete_or_ignored(tmp_path: Path, seed: int) -> None:
    """Any subset of the files, each whole, cut short or of a former attempt, at any moment."""
    save_steps(tmp_path, [10, 20, 30], keep=3)
    whole = restore(tmp_path)
    chance = random.Random(seed)  # noqa: S311 - no secret
    for case in range(20):
        disk = tmp_path / f"case-{case}"
        damaged = set()
        for name in files_below(whole):
            content = (whole / name).read_bytes()
            fate = chance.choice(("whole", "whole", "whole", "whole", "gone", "cut", "former"))
            if fate != "whole":
                damaged.add(int(name[5:14]))
            if fate != "gone":
                (disk / name).parent.mkdir(parents=True, exist_ok=True)
                kept = {"cut": content[: len(content) // 2], "former": content[::-1]}
                (disk / name).write_bytes(kept.get(fate, content))
        expected = max({10, 20, 30} - damaged, default=None)
        assert newest_steps(disk, hosts=1) == {expected}
