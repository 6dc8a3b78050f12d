"""What a host makes of the end of its ranks, given what the other hosts say."""

import signal
from dataclasses import dataclass, field, replace

import pytest

from training.contract.cluster import Cluster
from training.contract.hyperparameters import TrainingHyperparameters
from training.contract.stops import Stop
from training.launcher.company import Company
from training.launcher.devices import Devices
from training.launcher.diagnosis import Evidence, explain
from training.launcher.job import HostJob
from training.launcher.judgement import RanksEnd, judge_failure, judge_start, judge_stop
from training.launcher.stop import StopSignal
from training.launcher.watch import Stall

CLUSTER = Cluster(hosts=("algo-1", "algo-2"), current_host="algo-2", network_interface_name="lo")
LOST = "RuntimeError: [pair.cc:553] Connection closed by peer [127.0.0.1]:2203."
TIMED_OUT = "RuntimeError: [unbound_buffer.cc:81] Timed out waiting 10000ms for recv operation"
AGREED = Stop(told=("algo-1",), step=30, is_saved=True)


@dataclass
class Elsewhere(Company):
    """What the other hosts say."""

    failure: str | None = None
    told: tuple[str, ...] = ()
    posted: list[str] = field(default_factory=list)

    @property
    def has_failure(self) -> bool:
        return self.failure is not None

    @property
    def has_gaps(self) -> bool:
        return self.has_failure or bool(self.told)

    def tell_stop_early(self) -> None:
        self.posted.append("left early")

    def tell_failure(self, why: str) -> None:
        self.posted.append(why)

    def tell_left(self) -> None:
        self.posted.append("left")

    def failure_elsewhere(self, stop: StopSignal) -> str | None:
        assert stop.received is None
        return self.failure

    def told_to_stop(self) -> tuple[str, ...]:
        return self.told


class Signalled(StopSignal):
    received = signal.SIGTERM


def job(*, own_trainer: bool = True) -> HostJob:
    return HostJob(
        cluster=CLUSTER,
        devices=Devices(count=2, gpus=0),
        command=[],
        own_trainer=own_trainer,
        environment={},
        settings=TrainingHyperparameters(stop_wait_s=0, collective_timeout_s=10),
    )


def ended(
    exceptions: dict[int, str] | None = None,
    exit_codes: dict[int, int] | None = None,
    *,
    exit_code: int = 1,
    agreed: Stop | None = None,
    stall: Stall | None = None,
) -> RanksEnd:
    evidence = Evidence(exceptions=exceptions or {}, exit_codes=exit_codes or {})
    why = explain(evidence, host="algo-2", first_rank=2, exit_code=exit_code, exception_advice="x")
    return RanksEnd(exit_code=exit_code, evidence=evidence, why=why, agreed=agreed, stall=stall)


def test_ranks_that_are_done_have_not_stopped() -> None:
    assert judge_stop(job(), ended(exit_code=0), Elsewhere(), StopSignal()) is None


def test_a_cause_of_its_own_is_told_to_all() -> None:
    company = Elsewhere()
    ranks = ended({1: "ValueError: no", 0: LOST})
    assert judge_stop(job(), ranks, company, StopSignal()) is None
    ending = judge_failure(job(), ranks, company, StopSignal())
    assert ending.failure == "algo-2, rank 3: ValueError: no"
    assert company.posted == [ending.failure]


def test_a_cause_elsewhere_is_repeated() -> None:
    company = Elsewhere(failure="algo-1, rank 0 was killed by SIGKILL.")
    ending = judge_failure(job(), ended({0: LOST, 1: LOST}), company, StopSignal())
    assert ending.exit_code == 1
    assert ending.failure == (
        "Secondary failure on algo-2: it lost the other ranks. The cause: algo-1, rank 0 was "
        "killed by SIGKILL."
    )
    assert company.posted == []


def test_a_rank_that_says_nothing_while_others_wait_has_stalled() -> None:
    company = Elsewhere()
    ranks = ended({0: TIMED_OUT}, {0: 1, 1: -signal.SIGTERM})
    ending = judge_failure(job(), ranks, company, StopSignal())
    assert ending.failure is not None
    assert ending.failure.startswith("algo-2, rank 3 stalled: the other ranks waited for it for 10")
    assert company.posted == [ending.failure]


def test_waiting_in_vain_on_all_ranks_accuses_none_of_them() -> None:
    company = Elsewhere()
    ending = judge_failure(job(), ended({0: TIMED_OUT, 1: TIMED_OUT}), company, StopSignal())
    assert ending.failure is not None
    assert ending.failure.startswith("Secondary failure on algo-2: it lost the other ranks. Look")
    assert company.posted == [
        "algo-2: its ranks waited for others in vain for 10 s (collective_timeout_s)."
    ]


def test_a_rank_that_had_to_be_ended_is_named_beside_the_cause() -> None:
    company = Elsewhere(failure="algo-1: its ranks waited for others in vain for 10 s.")
    ranks = ended(exit_code=-signal.SIGKILL)
    ending = judge_failure(job(), ranks, company, StopSignal())
    assert ending.exit_code == 1
    assert ending.failure == (
        "Secondary failure on algo-2: it lost the other ranks. The cause: algo-1: its ranks waited "
        "for others in vain for 10 s. Rank 2 had not noticed: it may be the one that stalled."
    )


def test_ranks_that_were_ended_for_a_failure_elsewhere_are_accused_of_nothing() -> None:
    company = Elsewhere(failure="algo-1, rank 0 was killed by SIGKILL.")
    ending = judge_failure(job(), ended(exit_code=-signal.SIGKILL), company, StopSignal())
    assert ending.exit_code == 1  # 137 would mean a lack of memory here
    assert ending.failure == (
        "Secondary failure on algo-2: it lost the other ranks. The cause: algo-1, rank 0 was "
        "killed by SIGKILL."
    )


def test_what_started_the_ranks_was_killed_by_somebody_else() -> None:
    ending = judge_failure(job(), ended(exit_code=-signal.SIGKILL), Elsewhere(), StopSignal())
    assert ending.exit_code == 128 + signal.SIGKILL


def test_ranks_start_when_nobody_is_known_to_be_gone() -> None:
    assert judge_start(job(), Elsewhere(), StopSignal()) is None


def test_a_host_told_before_its_ranks_start_tells_the_others_and_ends_well() -> None:
    company = Elsewhere()
    ending = judge_start(job(), company, Signalled())
    assert ending is not None
    assert (ending.exit_code, ending.failure) == (0, None)
    assert company.posted == ["left early"]


def test_a_host_whose_ranks_need_not_start_says_why() -> None:
    stopped = judge_start(job(), Elsewhere(told=("algo-1",)), StopSignal())
    assert stopped is not None
    assert stopped.exit_code == 1
    assert (stopped.failure or "").startswith(
        "algo-2: stopped because algo-1 was told to; nothing was saved since. algo-2 itself was not"
    )
    failed = judge_start(job(), Elsewhere(failure="algo-1: no GPUs", told=("x",)), StopSignal())
    assert failed is not None
    assert (failed.exit_code, failed.failure) == (
        1,
        "Secondary failure on algo-2: it lost the other ranks. The cause: algo-1: no GPUs",
    )


def test_a_failure_that_comes_while_a_host_asks_is_no_stop() -> None:
    class FailsNow(Elsewhere):
        """A host fails right after the first question."""

        @property
        def has_failure(self) -> bool:
            before, self.failure = self.failure, "algo-1: no GPUs"
            return before is not None

    ending = judge_start(job(), FailsNow(), StopSignal())
    assert ending is not None
    assert "no GPUs" in (ending.failure or "")


STALL = Stall(host="algo-2", why="algo-2, rank 3 stalled: the other ranks waited for it.")


def test_a_rank_that_was_seen_to_stall_is_the_cause_on_all_hosts() -> None:
    company = Elsewhere()
    ranks = ended(exit_code=-signal.SIGKILL, stall=STALL)
    ending = judge_failure(job(), ranks, company, StopSignal())
    assert (ending.exit_code, ending.failure) == (1, STALL.why)
    assert company.posted == [STALL.why]
    elsewhere = replace(STALL, host="algo-1")
    ranks = ended(exit_code=-signal.SIGKILL, stall=elsewhere)
    ending = judge_failure(job(), ranks, company, StopSignal())
    assert (ending.exit_code, ending.failure) == (
        1,
        f"Secondary failure on algo-2: it lost the other ranks. The cause: {STALL.why}",
    )
    assert company.posted == [STALL.why]


def test_a_stall_is_no_stop_whoever_was_told() -> None:
    ranks = ended(exit_code=-signal.SIGKILL, stall=STALL)
    told = judge_stop(job(), ranks, Elsewhere(), Signalled())
    assert told is not None
    assert (told.exit_code, told.failure) == (1, STALL.why)
    assert judge_stop(job(), ranks, Elsewhere(told=("algo-1",)), StopSignal()) is None


def test_a_stop_that_was_agreed_on_needs_a_signal_of_ones_own() -> None:
    ranks = ended(exit_code=0, agreed=AGREED)
    ending = judge_stop(job(), ranks, Elsewhere(), StopSignal())
    assert ending is not None
    assert ending.exit_code == 1
    assert (ending.failure or "").startswith("algo-2: stopped because algo-1 was told to; saved")
    told = judge_stop(job(), ranks, Elsewhere(), Signalled())
    assert told is not None
    assert (told.exit_code, told.failure) == (0, None)


def test_a_host_told_before_the_training_stops_the_others_too() -> None:
    ending = judge_stop(job(), ended({0: LOST}), Elsewhere(told=("algo-1",)), StopSignal())
    assert ending is not None
    assert ending.exit_code == 1
    assert "stopped because algo-1 was told to; nothing was saved since" in (ending.failure or "")


def test_a_failure_comes_before_the_stop_that_follows_it() -> None:
    company = Elsewhere(failure="algo-1, rank 1: ValueError: no", told=("algo-1",))
    assert judge_stop(job(), ended({0: LOST}), company, StopSignal()) is None


@pytest.mark.parametrize(("own_trainer", "exit_code"), [(True, 1), (False, 0)])
def test_only_our_trainer_has_to_end_well_when_it_is_told(
    *, own_trainer: bool, exit_code: int
) -> None:
    ranks = ended({0: "OSError: disk full"})
    ending = judge_stop(job(own_trainer=own_trainer), ranks, Elsewhere(), Signalled())
    assert ending is not None
    assert ending.exit_code == exit_code
