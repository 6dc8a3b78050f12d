import json
from pathlib import Path

import pytest

from training.launcher.diagnosis import FAILURES_FILE, LOGS_FOLDER, Evidence, collect, explain

LOST = "RuntimeError: [pair.cc:553] Connection closed by peer [127.0.0.1]:2203."
ADVICE = "raise an exception"
LOST_OF_TENSORFLOW = """UnavailableError: Graph execution error:

Detected at node CollectiveReduceV2 defined at (most recent call last):
  File "/opt/evenshard/training/tensorflow/train.py", line 29, in <module>

Collective ops is aborted by: recvmsg:Connection reset by peer
Additional GRPC error information from remote target /job:worker/replica:0/task:2"""
BAD_LINE = "RecordError: part-00003.jsonl, line 17: not JSON"


def why(evidence: Evidence, exit_code: int = 1) -> str:
    return explain(
        evidence, host="algo-2", first_rank=4, exit_code=exit_code, exception_advice=ADVICE
    )


def test_an_exception_is_the_cause_whatever_came_first() -> None:
    evidence = Evidence(exceptions={0: LOST, 1: BAD_LINE, 2: LOST}, exit_codes={0: 1})
    assert why(evidence) == f"algo-2, rank 5: {BAD_LINE}"


def test_a_killed_rank_is_the_cause_of_lost_peers() -> None:
    evidence = Evidence(exceptions={0: LOST}, exit_codes={0: 1, 1: -9})
    assert why(evidence).startswith("algo-2, rank 5 was killed by SIGKILL. Nothing but a lack of")


def test_a_crash_is_named() -> None:
    assert why(Evidence(exceptions={}, exit_codes={1: -11})) == (
        "algo-2, rank 5 was killed by SIGSEGV."
    )


def test_ranks_that_torchrun_ended_are_no_cause() -> None:
    evidence = Evidence(exceptions={}, exit_codes={0: -15, 1: 3})
    assert why(evidence).startswith("algo-2, rank 5 exited with 3 and left no exception")


def test_a_rank_without_an_exception_beats_lost_peers() -> None:
    evidence = Evidence(exceptions={0: LOST}, exit_codes={0: 1, 1: 2})
    assert "rank 5 exited with 2" in why(evidence)
    assert why(evidence).endswith(f"To see exceptions here, {ADVICE}.")


def test_only_lost_peers_is_secondary() -> None:
    text = why(Evidence(exceptions={0: LOST, 1: LOST}, exit_codes={0: 1, 1: 1}))
    assert text.startswith("Secondary failure on algo-2: ")
    assert LOST in text


def test_a_rank_that_is_aborted_while_it_ends_has_only_lost_the_others() -> None:
    evidence = Evidence(exceptions={0: LOST, 1: LOST}, exit_codes={0: 1, 1: -6})
    assert not evidence.is_primary
    assert why(evidence).startswith("Secondary failure on algo-2: ")


def test_tensorflow_says_in_one_line_that_it_lost_a_peer() -> None:
    text = why(Evidence(exceptions={0: LOST_OF_TENSORFLOW}, exit_codes={0: 1}))
    assert text.startswith("Secondary failure on algo-2: ")
    assert text.endswith("(UnavailableError: recvmsg:Connection reset by peer)")


def test_torchrun_that_lost_the_chief_is_secondary() -> None:
    lost = "DistNetworkError: failed to recv, got 0 bytes"
    text = why(Evidence(exceptions={}, exit_codes={}, agent_error=lost))
    assert text.startswith("Secondary failure on algo-2: ")


def test_torchrun_that_failed_itself() -> None:
    evidence = Evidence(exceptions={}, exit_codes={}, agent_error="ValueError: nonsense")
    assert why(evidence) == "algo-2: ValueError: nonsense"
    assert why(Evidence(exceptions={}, exit_codes={}), 7) == (
        "algo-2: the ranks ended with 7: see the log."
    )


def test_collects_what_ranks_and_torchrun_left(tmp_path: Path) -> None:
    for rank, content in {
        "0": json.dumps({"message": {"message": LOST, "extraInfo": {}}}),
        "1": json.dumps({"message": BAD_LINE}),
        "2": '{"message": {"mess',
        "3": "[]",
        "x": json.dumps({"message": "no rank's"}),
    }.items():
        folder = tmp_path / LOGS_FOLDER / "none_abc" / "attempt_0" / rank
        folder.mkdir(parents=True)
        (folder / "error.json").write_text(content)
    report = {"exit_codes": {"2": -9}, "error": None}
    (tmp_path / FAILURES_FILE).write_text(json.dumps(report))
    assert collect(tmp_path) == Evidence(
        exceptions={0: LOST, 1: BAD_LINE}, exit_codes={2: -9}, agent_error=None
    )


def test_nothing_left_is_no_evidence(tmp_path: Path) -> None:
    assert collect(tmp_path) == Evidence(exceptions={}, exit_codes={}, agent_error=None)


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        (Evidence(exceptions={0: LOST, 1: BAD_LINE}, exit_codes={}), True),
        (Evidence(exceptions={}, exit_codes={1: -9}), True),
        (Evidence(exceptions={}, exit_codes={1: 3}), True),
        (Evidence(exceptions={0: LOST}, exit_codes={0: 1, 1: -15}), False),
        (Evidence(exceptions={}, exit_codes={}, agent_error="stopped by SIGTERM"), False),
    ],
)
def test_a_failure_of_its_own_is_told_from_one_of_others(
    evidence: Evidence, *, expected: bool
) -> None:
    assert evidence.is_primary is expected
