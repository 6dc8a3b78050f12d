from pathlib import Path

import pytest

from training.trainer.output import OutputError, check_output_folder, explained


def test_a_folder_that_can_be_written_is_left_as_it_was(tmp_path: Path) -> None:
    check_output_folder(tmp_path / "model")
    assert list((tmp_path / "model").iterdir()) == []


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    # Nobody may make files there, not even root.
    (tmp_path / "model").symlink_to("/proc")
    with pytest.raises(OutputError) as caught:
        check_output_folder(tmp_path / "model")
    assert str(caught.value).startswith(f"The model cannot be written to {tmp_path / 'model'}: [Er")
    assert "It must be a folder that the container's user may write to" in str(caught.value)


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").symlink_to("/proc")
    with pytest.raises(OutputError, match="The data report cannot be written to"):
        check_output_folder(tmp_path / "data" / "algo-1", what="data report")


def test_other_errors_are_not_mistaken_for_it(tmp_path: Path) -> None:
    with pytest.raises(KeyError), explained(tmp_path, ValueError):
        raise KeyError("a mistake of the program")
    with pytest.raises(OutputError, match="of a library"), explained(tmp_path, ValueError):
        raise ValueError("of a library")
