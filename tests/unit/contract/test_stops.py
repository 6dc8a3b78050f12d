from pathlib import Path

from training.contract.layout import STOPPED_FILE_VARIABLE, TOLD_FILE_VARIABLE
from training.contract.stops import Stop, is_stop_of_job, read_stop, tell_stop, was_told

STOP = Stop(told=("algo-2",), step=30, is_saved=True)


def test_the_launcher_reads_what_the_ranks_told(tmp_path: Path) -> None:
    file = tmp_path / "stopped.json"
    for _ in range(2):
        assert tell_stop(STOP, {STOPPED_FILE_VARIABLE: str(file)})
    assert read_stop(file) == STOP
    assert [path.name for path in tmp_path.iterdir()] == ["stopped.json"]


def test_ranks_that_did_not_stop_left_nothing(tmp_path: Path) -> None:
    assert read_stop(tmp_path / "stopped.json") is None


def test_without_a_launcher_nobody_is_told(tmp_path: Path) -> None:
    assert not tell_stop(STOP, {})
    assert list(tmp_path.iterdir()) == []


def test_the_reason_names_the_hosts() -> None:
    assert str(STOP) == "stopped because algo-2 was told to; saved at step 30"
    both = Stop(told=("algo-1", "algo-2"), step=4, is_saved=False)
    assert str(both) == "stopped because algo-1 and algo-2 were told to; nothing saved of step 4"


def test_a_signal_beside_a_failed_rank_is_no_stop_of_the_job(tmp_path: Path) -> None:
    told = tmp_path / "told"
    environment = {TOLD_FILE_VARIABLE: str(told)}
    assert not is_stop_of_job(environment)
    assert not was_told(environment)
    told.touch()
    assert is_stop_of_job(environment)
    assert was_told(environment)
    assert is_stop_of_job({})
    assert not was_told({})
