"""Who is named when ranks wait for each other, as each host's launcher sees it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from training.contract.attendance import Attendance
from training.contract.layout import ATTENDANCE_VARIABLE
from training.launcher.watch import Stall, Watch, find_stall

HOSTS = ("algo-1", "algo-2")
WAIT_S = 8.0


@dataclass
class Hosts:
    """What this host hears."""

    host: str = "algo-1"
    heard: Sequence[str] = HOSTS
    has_gaps: bool = False
    told: dict[str, str] = field(default_factory=dict)

    def tell_places(self, places: str) -> None:
        self.told[self.host] = places

    def told_places(self) -> Mapping[str, str]:
        return self.told


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@dataclass
class Host:
    """The launcher of algo-1, its two ranks, and a clock."""

    folder: Path
    hosts: Hosts = field(default_factory=Hosts)
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        environment = {ATTENDANCE_VARIABLE: str(self.folder)}
        self.ranks = [
            Attendance.from_environment(rank=rank, environment=environment) for rank in (0, 1)
        ]
        self.watch = Watch(self.folder, range(2), self.hosts, WAIT_S, clock_s=self.clock)

    def sees_stall_after(self, seconds: float) -> bool:
        self.clock.now_s += seconds
        return self.watch.has_stall()


def test_a_rank_that_others_wait_for_is_named_after_the_timeout(tmp_path: Path) -> None:
    host = Host(tmp_path)
    with host.ranks[0].waiting():
        assert not host.sees_stall_after(0.1)
        assert not host.sees_stall_after(WAIT_S - 0.1)
        assert host.hosts.told == {}
        assert not host.sees_stall_after(0.2)
        assert host.hosts.told == {"algo-1": "[1, 0]"}
        host.hosts.told["algo-2"] = "[1, 1]"
        assert host.sees_stall_after(0.1)
    assert host.watch.stall == Stall(
        host="algo-1",
        why="algo-1, rank 1 stalled: the other ranks waited for it for 8 s (collective_timeout_s). "
        "See what its log says last; if it was only slow, set that higher.",
    )


def test_ranks_that_go_on_are_never_named(tmp_path: Path) -> None:
    host = Host(tmp_path)
    for _ in range(5):
        with host.ranks[0].waiting(), host.ranks[1].waiting():
            assert not host.sees_stall_after(WAIT_S - 1)
        # Working alone may take any time: nobody waits.
        assert not host.sees_stall_after(10 * WAIT_S)
    assert host.hosts.told == {}


def test_a_host_tells_when_another_one_waits(tmp_path: Path) -> None:
    host = Host(tmp_path)
    with host.ranks[0].waiting():
        host.hosts.told["algo-2"] = "[1, 1]"
        assert host.sees_stall_after(0.1)
    assert host.watch.stall is not None
    assert host.watch.stall.why.startswith("algo-1, rank 1 stalled")


def test_a_host_that_does_not_answer_is_named(tmp_path: Path) -> None:
    host = Host(tmp_path)
    with host.ranks[0].waiting(), host.ranks[1].waiting():
        host.sees_stall_after(0.1)
        assert not host.sees_stall_after(WAIT_S)
        assert host.sees_stall_after(6)
    assert host.watch.stall == Stall(
        host="algo-2",
        why="algo-2 stalled: the other hosts waited for its ranks for 8 s (collective_timeout_s), "
        "and its launcher did not answer. See what its log says last.",
    )


def test_ranks_that_are_known_to_be_gone_explain_the_wait(tmp_path: Path) -> None:
    host = Host(tmp_path, hosts=Hosts(has_gaps=True))
    with host.ranks[0].waiting():
        host.sees_stall_after(0.1)
        assert not host.sees_stall_after(10 * WAIT_S)


@pytest.mark.parametrize(
    ("places", "hosts", "own_ranks", "host", "begins"),
    [
        ({"algo-1": [7, 7], "algo-2": [7, 6]}, HOSTS, range(2), "algo-2", "algo-2, rank 3 stalled"),
        ({"algo-1": [4, 7], "algo-2": [5, 7]}, HOSTS, range(2, 4), "algo-1", "algo-1, rank 0 sta"),
        ({"algo-1": [7, 7], "algo-2": [7, 7]}, HOSTS, range(2), "algo-1", "algo-1: its ranks wait"),
        # No board, so the other host is not heard: what can be said is said of this one.
        ({"algo-2": [7, 6]}, ["algo-2"], range(2, 4), "algo-2", "algo-2, rank 3 stalled"),
        ({"algo-2": [7, 7]}, ["algo-2"], range(2, 4), "algo-2", "algo-2: its ranks waited for oth"),
    ],
)
def test_whoever_is_behind_has_stalled(
    places: dict[str, list[int]], hosts: Sequence[str], own_ranks: range, host: str, begins: str
) -> None:
    stall = find_stall(places, hosts, own_ranks, WAIT_S)
    assert stall.host == host
    assert stall.why.startswith(begins)
    assert "8 s (collective_timeout_s)" in stall.why
