"""The other hosts of a job, as one launcher knows them: who has started, who failed, and why."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from typing import Final

from training.contract.cluster import Cluster
from training.contract.errors import ContractError
from training.contract.layout import BULLETIN_PORT, BULLETIN_VARIABLE, PEERS_VARIABLE
from training.launcher.bulletin import FAILED, JOINED, LEFT, TOLD, WAITED, Board, Bulletin
from training.launcher.stop import StopSignal

_HEARD_S: Final = 10.0
"""How long a host that ends before its ranks start waits until the others can know."""
_CAUSE_WAIT_S: Final = 10.0
"""How long a host that lost the others waits to hear why: theirs have to end first."""


class Company:
    """The hosts of a job. Where there is no board, each is alone."""

    def __init__(self, cluster: Cluster, bulletin: Bulletin | None) -> None:
        self._cluster = cluster
        self._bulletin = bulletin
        self._places: dict[str, str] = {}

    def meet(self, devices: int, stop: StopSignal, wait_s: float) -> None:
        """Wait until every host has started, and compare their devices.

        Args:
            devices: of this host.
            stop: waiting ends at once when a signal comes, or one has come to another host.
            wait_s: until those who have not started are given up.

        Raises:
            ContractError: names the hosts that are missing, or what devices each has.
        """
        bulletin, hosts = self._bulletin, self._cluster.hosts
        if bulletin is None:
            return
        bulletin.post(JOINED, str(devices))
        bulletin.wait(
            lambda: self.is_in_vain(stop) or set(bulletin.said(JOINED)) >= set(hosts), wait_s
        )
        joined = {self._cluster.current_host: str(devices), **bulletin.said(JOINED)}
        missing = [host for host in hosts if host not in joined]
        if missing and not self.is_in_vain(stop):
            raise ContractError(
                f"{self._cluster.current_host}: {', '.join(missing)} did not start within "
                f"{wait_s:g} s (collective_timeout_s) after {', '.join(joined) or 'no host'}. See "
                "the log of what is missing; in a VPC, its security group must allow all traffic "
                "to itself, both ways."
            )
        if len(set(joined.values())) > 1:
            counts = ", ".join(f"{host} has {joined[host]}" for host in hosts if host in joined)
            raise ContractError(
                f"The hosts have different numbers of devices: {counts}. All ranks of a job are "
                "hosts x devices: use one instance type."
            )

    def tell_failure(self, why: str) -> None:
        """Tell all that a rank of this host failed by itself."""
        if self._bulletin is not None:
            self._bulletin.post(FAILED, why)

    def tell_stop(self) -> None:
        """Tell all that this host was told to stop."""
        if self._bulletin is not None:
            self._bulletin.post(TOLD)

    def tell_failure_early(self, why: str) -> None:
        """Tell all that this host failed before its ranks started; wait until they can know."""
        self.tell_failure(why)
        self._be_heard(FAILED)

    def tell_stop_early(self) -> None:
        """Tell all that this host was told to stop before its ranks started, in the same way."""
        self.tell_stop()
        self.tell_left()
        self._be_heard(LEFT)

    def _be_heard(self, kind: str) -> None:
        bulletin, host = self._bulletin, self._cluster.current_host
        if bulletin is not None:
            # The board tells everybody, this host too, unless it went first.
            bulletin.wait(lambda: host in bulletin.said(kind) or bulletin.has_ended, _HEARD_S)

    def is_in_vain(self, stop: StopSignal) -> bool:
        """Whether it is of no use to wait for others any more, before the ranks start."""
        return stop.received is not None or self.has_gaps

    def tell_left(self) -> None:
        """Tell all that the ranks of this host, which was told to stop, are gone."""
        if self._bulletin is not None:
            self._bulletin.post(LEFT)

    @property
    def has_failure(self) -> bool:
        """Whether a host has said that a rank of its own failed."""
        return self._bulletin is not None and bool(self._bulletin.said(FAILED))

    @property
    def has_gaps(self) -> bool:
        """Whether ranks of the job are known to be gone, so that the others wait in vain."""
        return self.has_failure or self._has_left

    @property
    def _has_left(self) -> bool:
        return self._bulletin is not None and bool(self._bulletin.said(LEFT))

    @property
    def heard(self) -> Sequence[str]:
        """The hosts that this one can hear, itself among them, in their order."""
        return self._cluster.hosts if self._bulletin is not None else (self._cluster.current_host,)

    def tell_places(self, places: str) -> None:
        """Tell all how far the ranks of this host have come, since some wait too long."""
        self._places = {self._cluster.current_host: places}
        if self._bulletin is not None:
            self._bulletin.post(WAITED, places)

    def told_places(self) -> Mapping[str, str]:
        """How far the ranks of hosts have come that have told so: host -> what it told."""
        told = self._bulletin.said(WAITED) if self._bulletin is not None else {}
        return {**told, **self._places}

    def failure_elsewhere(self, stop: StopSignal) -> str | None:
        """Why the job failed on another host, which may still be about to say so.

        Args:
            stop: waiting ends at once when a signal comes.
        """
        bulletin = self._bulletin
        if bulletin is None:
            return None

        def is_known() -> bool:
            said = bulletin.said(FAILED) or bulletin.said(TOLD)
            return bool(stop.received or said or bulletin.has_ended)

        bulletin.wait(is_known, _CAUSE_WAIT_S)
        return next(iter(bulletin.said(FAILED).values()), None)

    def told_to_stop(self) -> tuple[str, ...]:
        """The other hosts that were told to stop, as far as this one has heard."""
        told = self._bulletin.said(TOLD) if self._bulletin is not None else {}
        return tuple(host for host in told if host != self._cluster.current_host)


@contextmanager
def open_company(
    cluster: Cluster, environment: Mapping[str, str] | None = None
) -> Iterator[Company]:
    """Join the board of the job; the chief also keeps it.

    Args:
        cluster: the hosts. One alone needs no board.
        environment: names the board of simulated hosts; this process's own when None.
    """
    variables = os.environ if environment is None else environment
    named = variables.get(BULLETIN_VARIABLE)
    if len(cluster.hosts) == 1 or (named is None and PEERS_VARIABLE in variables):
        yield Company(cluster, None)
        return
    address, port = cluster.chief, BULLETIN_PORT
    if named is not None:
        address, _, digits = named.rpartition(":")
        port = int(digits)
    board = closing(Board(address, port)) if cluster.is_chief else nullcontext()
    with board, closing(Bulletin(cluster.current_host, address, port)) as bulletin:
        yield Company(cluster, bulletin)
