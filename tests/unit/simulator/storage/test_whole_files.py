import errno
import os
from pathlib import Path

import pytest

from evenshard.simulator.errors import ServiceError
from evenshard.simulator.storage.whole_files import is_unfinished, written_whole


def test_a_file_has_its_name_when_it_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "file"
    with written_whole(file, "s3://b/k") as unfinished:
        unfinished.write_text("half")
        assert not file.exists()
        assert is_unfinished(unfinished.name)
        unfinished.write_text("whole")
    assert [path.name for path in file.parent.iterdir()] == ["file"]
    assert file.read_text() == "whole"
    assert not is_unfinished(file.name)


def write_half(file: Path, error: BaseException) -> None:
    with written_whole(file, "s3://b/k") as unfinished:
        unfinished.write_text("half")
        raise error


@pytest.mark.parametrize("error", [ValueError("x"), KeyboardInterrupt(), FileNotFoundError("x")])
def test_what_went_wrong_leaves_what_was_there(tmp_path: Path, error: BaseException) -> None:
    file = tmp_path / "file"
    file.write_text("old")
    with pytest.raises(type(error)):
        write_half(file, error)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert file.read_text() == "old"


def test_a_full_disk_says_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "file"
    with pytest.raises(ServiceError) as error:
        write_half(file, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    assert str(error.value) == (
        f"Cannot write s3://b/k to {file}: No space left on device. Free disk space there: every "
        "host has its own copy of what it reads."
    )
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_a_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("an object")
    with pytest.raises(ServiceError, match="One object has the name of the folder of another"):
        written_whole(tmp_path / "a" / "b", "s3://b/a/b").__enter__()
    (tmp_path / "c" / "d").mkdir(parents=True)
    with (
        pytest.raises(ServiceError, match="One object has the name of the folder of another"),
        written_whole(tmp_path / "c", "s3://b/c") as unfinished,
    ):
        unfinished.write_text("x")
