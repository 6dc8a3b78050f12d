import pytest

from evenshard.errors import UsageError
from evenshard.simulator.cluster.faults import Fault, FaultKind, check_targets, parse_fault


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "sigterm:algo-2@step=30",
            {"kind": FaultKind.SIGTERM, "host": "algo-2", "point": "step", "number": 30},
        ),
        (
            "sigkill:algo-1/1@step=20",
            {
                "kind": FaultKind.SIGKILL,
                "host": "algo-1",
                "local_rank": 1,
                "point": "step",
                "number": 20,
            },
        ),
        ("sigkill:algo-12", {"kind": FaultKind.SIGKILL, "host": "algo-12"}),
        ("stall:algo-2@saving", {"kind": FaultKind.STALL, "host": "algo-2", "point": "saving"}),
        ("slow:algo-2x3", {"kind": FaultKind.SLOW, "host": "algo-2", "factor": 3.0}),
        (
            "slow:algo-1/0x1.5",
            {"kind": FaultKind.SLOW, "host": "algo-1", "local_rank": 0, "factor": 1.5},
        ),
        (
            "spot:algo-1@evaluation=2",
            {"kind": FaultKind.SPOT, "host": "algo-1", "point": "evaluation", "number": 2},
        ),
        ("disk-full:algo-1", {"kind": FaultKind.DISK_FULL, "host": "algo-1"}),
        (
            "corrupt:train/part-00003.jsonl",
            {"kind": FaultKind.CORRUPT, "key": "train/part-00003.jsonl"},
        ),
    ],
)
def test_reads_what_is_documented(text: str, expected: dict[str, object]) -> None:
    assert parse_fault(text) == Fault(text=text, **expected)  # type: ignore[arg-type] # a table


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "there is no kind ''"),
        ("sigint:algo-1", "there is no kind 'sigint'"),
        ("sigterm", "'' is no host, rank and moment"),
        ("sigterm:algo-0", "'algo-0' is no host"),
        ("sigterm:host-1@step=3", "is no host"),
        ("sigterm:algo-1@step=-3", "is no host"),
        ("sigterm:algo-1@step=", "is no host"),
        ("sigterm:algo-1@noon", "'noon' is no moment; start, step, saving, evaluation are"),
        ("sigterm:algo-1@start=2", "start takes no number"),
        ("sigterm:algo-1/0@step=3", "sigterm happens to hosts: leave out /0"),
        ("spot:algo-1/1", "spot happens to hosts"),
        ("sigterm:algo-1x2", "sigterm takes no factor"),
        ("slow:algo-1", "above 1"),
        ("slow:algo-1x1", "above 1"),
        ("slow:algo-1x0.5", "above 1"),
        ("slow:algo-1x2@step=3", "leave out the moment"),
        ("corrupt:", "it names no object"),
    ],
)
def test_refuses_the_rest_and_says_what_is_allowed(text: str, reason: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_fault(text)
    assert str(error.value).startswith(f"--fault {text}: ")
    assert reason in str(error.value)
    assert "for example sigterm:algo-2@step=30" in str(error.value)


def test_refuses_hosts_and_ranks_that_are_not_there() -> None:
    faults = [parse_fault("sigkill:algo-2/1"), parse_fault("corrupt:train/a")]
    check_targets(faults, hosts=2, devices_per_host=2)
    with pytest.raises(UsageError, match="only 1 hosts, algo-1 to algo-1"):
        check_targets(faults, hosts=1, devices_per_host=2)
    with pytest.raises(UsageError, match=r"only ranks 0 to 0 .*--devices-per-host 1"):
        check_targets(faults, hosts=2, devices_per_host=1)
