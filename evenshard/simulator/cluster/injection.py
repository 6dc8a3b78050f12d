"""Makes faults happen to the hosts of a training job, each at its moment.

A full disk is a limit on the size of files (RLIMIT_FSIZE) of every process of the host: no quota
and no file system of one's own can be had without root. Writes fail with EFBIG, "File too large",
where a full disk gives ENOSPC, "No space left on device"; small files can still be written.
"""

import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from evenshard.errors import UsageError
from evenshard.simulator.cluster.faults import Fault, FaultKind
from evenshard.simulator.cluster.hosts import RunningHosts
from training.contract.breakpoints import Breakpoint, BreakpointPlan

FULL_DISK_BYTES: Final = 8192
"""No file grows beyond it: what fails has a reason to give, and that must fit somewhere."""
_SETTLE_S: Final = 1.0
"""A rank without a launcher waits so long after a signal."""
_RECLAIM_S: Final = 10.0
"""When the others of a spot job are told at the latest, if the reclaimed host does not end."""


@dataclass(slots=True, kw_only=True)
class PlannedFault:
    """A fault of this execution, and whether it has happened. It happens once."""

    fault: Fault
    after_s: float | None = None
    """When it happened, in seconds since the execution began; None: it did not."""

    def document(self) -> dict[str, str | float | None]:
        """This fault as result.json holds it."""
        after_s = None if self.after_s is None else round(self.after_s, 3)
        return {"fault": self.fault.text, "after_s": after_s}


@dataclass(slots=True)
class FaultPlan:
    """All faults of one execution."""

    planned: Sequence[PlannedFault] = ()
    began_s: float = field(default_factory=time.monotonic)

    @classmethod
    def of(cls, faults: Sequence[Fault]) -> "FaultPlan":
        """Plan faults.

        Raises:
            UsageError: this machine cannot make one of them happen.
        """
        if any(f.kind is FaultKind.DISK_FULL for f in faults) and sys.platform != "linux":
            raise UsageError("--fault disk-full:...: only Linux can limit the files of a process.")
        return cls([PlannedFault(fault=fault) for fault in faults])

    def open(self) -> list[PlannedFault]:
        """What has not happened yet."""
        return [each for each in self.planned if each.after_s is None]

    def happened(self, planned: PlannedFault) -> None:
        """Note that a fault happens now. A damaged object may arrive several times."""
        if planned.after_s is None:
            planned.after_s = time.monotonic() - self.began_s


class Injector:
    """The faults of one attempt at a training job."""

    def __init__(
        self,
        plan: FaultPlan,
        folder: Path,
        *,
        devices_per_host: int,
        report: Callable[[Fault], None],
    ) -> None:
        """Prepare.

        Args:
            plan: what has not happened yet will.
            folder: where ranks say what they have reached; made here.
            devices_per_host: ranks of each host.
            report: called with each fault that happens.
        """
        self._plan = plan
        self._folder = folder
        self._devices = devices_per_host
        self._report = report
        self._open: dict[str, PlannedFault] = {}
        self._go_due_s: dict[Path, float] = {}
        self._reclaimed: str | None = None
        self._reclaimed_s = 0.0
        self.breakpoints: list[Breakpoint] = []
        self._slowdowns: dict[int, float] = {}
        folder.mkdir(parents=True)
        for index, planned in enumerate(plan.planned):
            if planned.fault.kind is FaultKind.SLOW:
                self._slow_down(planned)
            elif planned.after_s is None and planned.fault.kind is not FaultKind.CORRUPT:
                self._plant(index, planned)

    @property
    def interrupted(self) -> bool:
        """Whether a spot instance of the job was reclaimed."""
        return self._reclaimed is not None

    def variable(self) -> str | None:
        """The value of the hosts' breakpoints variable; None: nothing is to happen."""
        if not self.breakpoints and not self._slowdowns:
            return None
        plan = BreakpointPlan(
            folder=self._folder, breakpoints=self.breakpoints, slowdowns=self._slowdowns
        )
        return plan.text()

    def watch(self, hosts: RunningHosts) -> None:
        """See what ranks have reached, and act."""
        for point in list(self.breakpoints):
            if point.reached_file(self._folder).exists():
                self.breakpoints.remove(point)
                self._act(point, hosts)
        for file, due_s in list(self._go_due_s.items()):
            if time.monotonic() >= due_s:
                file.touch()
                del self._go_due_s[file]
        self._reclaim_the_others(hosts)

    def _ranks(self, fault: Fault) -> list[int]:
        first = (int(fault.host.removeprefix("algo-")) - 1) * self._devices
        if fault.local_rank is not None:
            return [first + fault.local_rank]
        return list(range(first, first + self._devices))

    def _slow_down(self, planned: PlannedFault) -> None:
        for rank in self._ranks(planned.fault):
            self._slowdowns[rank] = planned.fault.factor
        if planned.after_s is None:
            self._happen(planned)

    def _plant(self, index: int, planned: PlannedFault) -> None:
        ranks = self._ranks(planned.fault)
        # A host stalls with all its ranks; for anything else its first one tells the moment.
        for rank in ranks if planned.fault.kind is FaultKind.STALL else ranks[:1]:
            point = Breakpoint(
                id=f"fault-{index}-rank-{rank}",
                rank=rank,
                point=planned.fault.point,
                number=planned.fault.number,
                is_of_a_stop=planned.fault.kind in (FaultKind.SIGTERM, FaultKind.SPOT),
            )
            self.breakpoints.append(point)
            self._open[point.id] = planned

    def _act(self, point: Breakpoint, hosts: RunningHosts) -> None:
        planned = self._open[point.id]
        fault = planned.fault
        act: Mapping[FaultKind, Callable[[], None]] = {
            FaultKind.SIGTERM: lambda: hosts.tell(fault.host),
            FaultKind.SIGKILL: lambda: self._kill(fault, point, hosts),
            FaultKind.STALL: lambda: None,
            FaultKind.SPOT: lambda: self._reclaim(fault, hosts),
            FaultKind.DISK_FULL: lambda: _fill_disk(hosts.processes(fault.host)),
        }
        if planned.after_s is None:
            self._happen(planned)
        act[fault.kind]()
        if fault.kind is not FaultKind.STALL:
            self._go_due_s[point.go_file(self._folder)] = time.monotonic() + _SETTLE_S

    def _happen(self, planned: PlannedFault) -> None:
        self._plan.happened(planned)
        self._report(planned.fault)

    def _kill(self, fault: Fault, point: Breakpoint, hosts: RunningHosts) -> None:
        if fault.local_rank is None:
            hosts.lose(fault.host)
            return
        process_id = int(point.reached_file(self._folder).read_text(encoding="utf-8"))
        with suppress(ProcessLookupError):
            os.kill(process_id, signal.SIGKILL)

    def _reclaim(self, fault: Fault, hosts: RunningHosts) -> None:
        self._reclaimed, self._reclaimed_s = fault.host, time.monotonic()
        hosts.tell(fault.host)

    def _reclaim_the_others(self, hosts: RunningHosts) -> None:
        """The job is over without its host: the others are told when that one has ended."""
        if self._reclaimed is None:
            return
        late = time.monotonic() > self._reclaimed_s + _RECLAIM_S
        if late or self._reclaimed not in hosts.alive():
            hosts.tell_all()


def _fill_disk(process_ids: Sequence[int]) -> None:
    if sys.platform == "linux":  # FaultPlan.of has refused the others; type checkers see it here
        for process_id in process_ids:
            with suppress(ProcessLookupError):
                limits = (FULL_DISK_BYTES, FULL_DISK_BYTES)
                resource.prlimit(process_id, resource.RLIMIT_FSIZE, limits)
