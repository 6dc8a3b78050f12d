import logging
from pathlib import Path

import pytest

from tests.unit.checkpoints.rank_threads import on_ranks
from tests.unit.checkpoints.written import (
    IDENTITY,
    files_below,
    restore,
    save_steps,
    snapshot,
    write_own,
    writer,
)
from training.checkpoints import CheckpointError, CheckpointIndex, Group, WrittenFile
from training.checkpoints.index import saved_steps, step_folder


def test_each_host_holds_its_own_files_and_the_chief_the_index(tmp_path: Path) -> None:
    save_steps(tmp_path, [30])
    assert files_below(tmp_path) == [
        "algo-1/step-000000030/index.json",
        "algo-1/step-000000030/rank-00000.pt",
        "algo-1/step-000000030/rank-00001.pt",
        "algo-2/step-000000030/rank-00002.pt",
        "algo-2/step-000000030/rank-00003.pt",
    ]


def test_the_index_knows_the_files_of_other_hosts(tmp_path: Path) -> None:
    save_steps(tmp_path, [30])
    index = CheckpointIndex.read(step_folder(tmp_path / "algo-1", 30))
    all_files = step_folder(restore(tmp_path), 30)
    assert index.files == [WrittenFile.of(all_files / f"rank-0000{rank}.pt") for rank in range(4)]
    assert (index.step, index.framework, index.identity) == (30, "pytorch", IDENTITY)
    assert index.progress == {"epoch": 3}
    assert index.ranks == [{"rank": rank} for rank in range(4)]


def test_old_ones_are_deleted_on_every_host(tmp_path: Path) -> None:
    save_steps(tmp_path, [10, 20, 30], keep=2)
    assert saved_steps(tmp_path / "algo-1") == saved_steps(tmp_path / "algo-2") == [30, 20]


def test_older_torn_ones_are_deleted_too_and_newer_ones_left(tmp_path: Path) -> None:
    for step in (5, 95):
        step_folder(tmp_path / "algo-2", step).mkdir(parents=True)
    save_steps(tmp_path, [10, 20], keep=5)
    assert saved_steps(tmp_path / "algo-2") == [95, 20, 10]


def test_what_else_lies_there_stays(tmp_path: Path) -> None:
    (tmp_path / "algo-1" / "step-by-step").mkdir(parents=True)
    save_steps(tmp_path, [10, 20, 30], keep=1)
    assert (tmp_path / "algo-1" / "step-by-step").is_dir()
    assert saved_steps(tmp_path / "algo-1") == [30]


def test_a_step_that_is_saved_already_is_not_torn_again(tmp_path: Path) -> None:
    written: list[int] = []

    def save_twice(group: Group) -> None:
        mine = writer(tmp_path, group)
        for _ in range(2):

            def write(folder: Path) -> list[Path]:
                written.append(group.rank)
                return write_own(folder, group, 10)

            mine.save(snapshot(10, group), write)

    on_ranks(save_twice)
    assert sorted(written) == [0, 1, 2, 3]


def test_all_ranks_learn_who_could_not_write(tmp_path: Path) -> None:
    def save(group: Group) -> str:
        def write(folder: Path) -> list[Path]:
            if group.rank == 2:
                raise OSError(28, "No space left on device")
            return write_own(folder, group, 10)

        with pytest.raises(CheckpointError) as caught:
            writer(tmp_path, group).save(snapshot(10, group), write)
        return str(caught.value)

    messages = on_ranks(save)
    assert all("Rank 2 could not write the checkpoint of step 10" in text for text in messages)
    assert all("No space left on device. Give the job a larger" in text for text in messages)
    assert not list(tmp_path.rglob("index.json"))


def test_an_index_that_cannot_be_written_is_told_to_all(tmp_path: Path) -> None:
    step_folder(tmp_path / "algo-1", 10).joinpath("index.json").mkdir(parents=True)
    with pytest.raises(CheckpointError, match="Rank 0 could not write"):
        save_steps(tmp_path, [10])


def test_what_cannot_be_deleted_is_no_failure(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, onerror: object) -> None:
        assert callable(onerror)
        onerror(refuse, str(path), None)

    monkeypatch.setattr("shutil.rmtree", refuse)
    with caplog.at_level(logging.WARNING):
        save_steps(tmp_path, [10, 20], keep=1)
    assert "step-000000010 could not be deleted" in caplog.text
