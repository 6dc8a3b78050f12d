"""What it means for a host that its ranks have ended, given what the other hosts say."""

import signal
from dataclasses import dataclass
from typing import Final

from training.contract.stops import Stop, stopped_because
from training.launcher.company import Company
from training.launcher.diagnosis import Evidence, lost_the_others
from training.launcher.ending import Ending, ended_after_signal, ended_for_others
from training.launcher.job import HostJob
from training.launcher.stop import StopSignal
from training.launcher.watch import Stall

_NOTHING_SAVED: Final = "nothing was saved since"
_IN_VAIN: Final = "waited for others in vain"
_KILLED: Final = 128 + signal.SIGKILL


@dataclass(frozen=True, slots=True, kw_only=True)
class RanksEnd:
    """How the ranks of this host ended."""

    exit_code: int
    """Of what started them; negative: the signal that ended it."""
    evidence: Evidence
    why: str
    """They failed; of no meaning where the exit code is 0."""
    agreed: Stop | None
    """The stop that all ranks agreed on, if they did."""
    stall: Stall | None = None
    """Why they were ended, if they waited for others in vain."""


def judge_start(job: HostJob, company: Company, stop: StopSignal) -> Ending | None:
    """The end of a host before its ranks start; None: they can."""
    host, wait_s = job.cluster.current_host, job.settings.stop_wait_s
    # In this order: a failure is a gap, and one that comes in between is no stop.
    has_gaps = company.has_gaps
    failed = company.has_failure
    if has_gaps and not failed:
        stop.wait(wait_s)
    if stop.received is not None:
        company.tell_stop_early()
        return ended_after_signal(host, stop.received, None, None)
    if failed:
        cause = company.failure_elsewhere(stop) or "see the log of the other hosts"
        return Ending(exit_code=1, failure=lost_the_others(host, cause))
    if has_gaps:
        why = f"{stopped_because(company.told_to_stop())}; {_NOTHING_SAVED}"
        return ended_for_others(host, why, wait_s)
    return None


def judge_stop(job: HostJob, ranks: RanksEnd, company: Company, stop: StopSignal) -> Ending | None:
    """The end of a host whose ranks stopped; None: they were done, or they failed."""
    host, wait_s = job.cluster.current_host, job.settings.stop_wait_s
    others = _stopped_for_others(ranks, company)
    if others is not None:
        stop.wait(wait_s)
    if stop.received is not None:
        # A script may end in any way when it is told to.
        cause = _own_cause(ranks) if job.own_trainer else None
        if job.own_trainer and ranks.exit_code != 0 and ranks.agreed is None:
            company.tell_left()
        return ended_after_signal(host, stop.received, ranks.agreed, cause)
    return ended_for_others(host, others, wait_s) if others is not None else None


def judge_failure(job: HostJob, ranks: RanksEnd, company: Company, stop: StopSignal) -> Ending:
    """The end of a host whose ranks failed: the cause, wherever it is."""
    exit_code = ranks.exit_code if ranks.exit_code > 0 else 128 - ranks.exit_code
    if ranks.stall is not None or (company.has_gaps and exit_code == _KILLED):
        exit_code = 1  # they were killed for it: that says nothing
    return Ending(exit_code=exit_code, failure=_cause(job, ranks, company, stop))


def _own_cause(ranks: RanksEnd) -> str | None:
    """Why the ranks ended in another way than by a stop."""
    if ranks.evidence.is_primary:
        return ranks.why
    return ranks.stall.why if ranks.stall is not None else None


def _stopped_for_others(ranks: RanksEnd, company: Company) -> str | None:
    """Why this host's ranks stopped, though nobody told them to; None: they did not."""
    if ranks.agreed is not None:
        return str(ranks.agreed)
    told = company.told_to_stop()
    lost = ranks.exit_code != 0 and _own_cause(ranks) is None
    if lost and told and not company.has_failure:
        return f"{stopped_because(told)}; {_NOTHING_SAVED}"
    return None


def _cause(job: HostJob, ranks: RanksEnd, company: Company, stop: StopSignal) -> str:
    host = job.cluster.current_host
    if ranks.evidence.is_primary:
        company.tell_failure(ranks.why)
        return ranks.why
    if ranks.stall is not None:
        if ranks.stall.host != host:
            return lost_the_others(host, ranks.stall.why)
        company.tell_failure(ranks.stall.why)
        return ranks.stall.why
    waited_s = f"{job.settings.collective_timeout_s:g} s (collective_timeout_s)"
    silent = ranks.evidence.silent_among(job.devices.count)
    if ranks.evidence.has_timed_out and silent:
        stalled = (
            f"{host}, rank {job.first_rank + silent[0]} stalled: the other ranks waited for it for "
            f"{waited_s}. See what its log says last; if it was only slow, set that higher."
        )
        company.tell_failure(stalled)
        return stalled
    elsewhere = company.failure_elsewhere(stop)
    if elsewhere is not None:
        why = lost_the_others(host, elsewhere)
        if silent and ranks.exit_code == -signal.SIGKILL and _IN_VAIN in elsewhere:
            rank = job.first_rank + silent[0]
            why += f" Rank {rank} had not noticed: it may be the one that stalled."
        return why
    if ranks.evidence.has_timed_out:
        company.tell_failure(f"{host}: its ranks {_IN_VAIN} for {waited_s}.")
    return ranks.why
