import signal

from training.contract.stops import Stop
from training.launcher.ending import Ending, ended_after_signal, ended_for_others

STOP = Stop(told=("algo-2",), step=30, is_saved=True)


def test_a_host_that_was_told_exits_with_0_and_has_nothing_to_complain_of() -> None:
    ending = ended_after_signal("algo-2", signal.SIGTERM, STOP, None)
    remark = "algo-2: stopped because algo-2 was told to; saved at step 30. There is no model."
    assert ending == Ending(exit_code=0, remark=remark)


def test_so_does_one_whose_ranks_had_nothing_to_save_yet() -> None:
    ending = ended_after_signal("algo-2", signal.SIGTERM, None, None)
    remark = "algo-2: told to stop; nothing was saved since. There is no model."
    assert ending == Ending(exit_code=0, remark=remark)


def test_a_rank_that_fails_while_it_stops_has_failed() -> None:
    ending = ended_after_signal("algo-2", signal.SIGTERM, STOP, "algo-2, rank 3: disk full")
    assert ending == Ending(exit_code=1, failure="algo-2, rank 3: disk full")


def test_a_keyboard_gets_the_code_that_shells_expect() -> None:
    ending = ended_after_signal("algo-1", signal.SIGINT, STOP, None)
    assert ending.exit_code == 130
    assert ending.failure is not None


def test_a_host_that_was_never_told_is_no_success() -> None:
    ending = ended_for_others("algo-1", str(STOP), 3.0)
    assert ending.exit_code == 1
    assert ending.failure is not None
    assert ending.failure.startswith(
        "algo-1: stopped because algo-2 was told to; saved at step 30. algo-1 itself was not told "
        "within 3 s (stop_wait_s)."
    )
