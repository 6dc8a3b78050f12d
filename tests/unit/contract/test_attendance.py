from pathlib import Path

import pytest

from training.contract.attendance import NOWHERE, Attendance, Mark, read_mark
from training.contract.layout import ATTENDANCE_VARIABLE


def test_a_rank_marks_where_it_works_and_where_it_waits(tmp_path: Path) -> None:
    rank = Attendance.from_environment(rank=3, environment={ATTENDANCE_VARIABLE: str(tmp_path)})
    assert rank.is_read
    assert read_mark(tmp_path, 3) == NOWHERE
    assert read_mark(tmp_path, 2) is None
    with rank.waiting():
        assert read_mark(tmp_path, 3) == Mark(place=1, is_waiting=True)
    assert read_mark(tmp_path, 3) == Mark(place=2, is_waiting=False)
    with rank.waiting(when=False):
        assert read_mark(tmp_path, 3) == Mark(place=2, is_waiting=False)


def test_a_rank_that_fails_among_the_others_comes_no_further(tmp_path: Path) -> None:
    rank = Attendance.from_environment(rank=3, environment={ATTENDANCE_VARIABLE: str(tmp_path)})
    with pytest.raises(ValueError, match="lost"), rank.waiting():
        raise ValueError("lost")
    assert read_mark(tmp_path, 3) == Mark(place=1, is_waiting=True)


def test_without_a_launcher_nothing_is_marked(tmp_path: Path) -> None:
    rank = Attendance.from_environment(rank=0, environment={})
    assert not rank.is_read
    with rank.waiting():
        assert list(tmp_path.iterdir()) == []
