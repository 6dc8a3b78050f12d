from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.unit.records.host_data import Ranks, host_loaders, numbered, write_shards
from training.records import AgreementError, EpochPlan, LoaderSettings, RecordLoader, find_shards

SETTINGS = LoaderSettings(batch_size=4, seed=3, block_bytes=64)


def _settings(**changes: Any) -> LoaderSettings:  # noqa: ANN401 - any of the settings
    return LoaderSettings(**asdict(SETTINGS) | changes)


def _hosts(tmp_path: Path, *records_of_hosts: int, parts: int = 2) -> list[list[RecordLoader]]:
    """Lay out hosts with one shard each, or none where there are no records."""
    hosts, first = [], 0
    for host, records in enumerate(records_of_hosts):
        contents = {f"part-{host}.jsonl": numbered(records, first=first)} if records else {}
        directory = write_shards(tmp_path / f"algo-{host + 1}", contents)
        hosts.append(host_loaders(directory, SETTINGS, parts=parts))
        first += records
    return hosts


def _refusal(ranks: Ranks, epochs: list[int] | int = 0) -> str:
    """Let the ranks disagree and return the message that all of them raise."""
    outcomes = ranks.agree(epochs)
    assert all(isinstance(outcome, AgreementError) for outcome in outcomes)
    messages = {str(outcome) for outcome in outcomes}
    assert len(messages) == 1
    return messages.pop()


def test_all_ranks_get_one_plan_from_one_collective(tmp_path: Path) -> None:
    ranks = Ranks(_hosts(tmp_path, 13, 0, 4))
    plan = EpochPlan(counts=(6, 7, 0, 0, 2, 2), batch_size=4)
    assert ranks.agree(5) == [plan] * 6
    assert ranks.collectives == [1] * 6


def test_a_plan_knows_every_step() -> None:
    plan = EpochPlan(counts=(6, 9, 0, 4), batch_size=4)
    assert plan.steps == 3
    assert [plan.records_in_step(step) for step in range(3)] == [12, 6, 1]
    by_rank = [[plan.records_of_rank_in_step(rank, s) for s in range(3)] for rank in range(4)]
    assert by_rank == [[4, 2, 0], [4, 4, 1], [0, 0, 0], [4, 0, 0]]


@pytest.mark.parametrize("step", [-1, 3])
def test_a_plan_refuses_steps_it_does_not_have(step: int) -> None:
    plan = EpochPlan(counts=(6, 9), batch_size=4)
    with pytest.raises(ValueError, match=f"step={step}: this epoch has steps 0 to 2"):
        plan.records_in_step(step)


def test_a_job_without_records_has_no_steps(tmp_path: Path) -> None:
    plans = Ranks(_hosts(tmp_path, 0, 0)).agree()
    assert plans == [EpochPlan(counts=(0, 0, 0, 0), batch_size=4)] * 4
    assert EpochPlan(counts=(0, 0), batch_size=4).steps == 0


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("seed", 8, "3 on ranks 0, 1, 2, 8 on rank 3"),
        ("batch_size", 5, "4 on ranks 0, 1, 2, 5 on rank 3"),
        ("shuffle", False, "1 on ranks 0, 1, 2, 0 on rank 3"),
        ("block_bytes", 65, "64 on ranks 0, 1, 2, 65 on rank 3"),
        ("window_blocks", 9, "128 on ranks 0, 1, 2, 9 on rank 3"),
    ],
)
def test_refuses_different_settings(tmp_path: Path, name: str, value: int, shown: str) -> None:
    hosts = _hosts(tmp_path, 5, 6)
    hosts[1][1] = RecordLoader(
        hosts[1][1].shards, settings=_settings(**{name: value}), part=1, parts=2
    )
    message = _refusal(Ranks(hosts))
    assert message.startswith(f"The ranks disagree on {name}: {shown}. One job has one value")


def test_refuses_different_epochs(tmp_path: Path) -> None:
    message = _refusal(Ranks(_hosts(tmp_path, 5, 6)), [1, 1, 2, 1])
    assert message.startswith("The ranks disagree on epoch: 1 on ranks 0, 1, 3, 2 on rank 2.")


def test_refuses_ranks_of_a_host_that_saw_different_shards(tmp_path: Path) -> None:
    hosts = _hosts(tmp_path, 5, 6)
    write_shards(tmp_path / "algo-2", {"late.jsonl": numbered(3, first=90)})
    late = find_shards(tmp_path / "algo-2")
    hosts[1][1] = RecordLoader(late, settings=SETTINGS, part=1, parts=2)
    message = _refusal(Ranks(hosts))
    assert message.startswith(
        "The ranks of host 1 saw different shards (names or sizes):"
        " rank 2 1 shards with 6 records; rank 3 2 shards with 9 records."
    )


def test_refuses_ranks_of_a_host_that_counted_differently(tmp_path: Path) -> None:
    hosts = _hosts(tmp_path, 5, 6)
    path = hosts[0][0].shards[0].path
    path.write_bytes(path.read_bytes().replace(b"\n", b" ", 1))
    hosts[0][1] = host_loaders(tmp_path / "algo-1", SETTINGS, parts=2)[1]
    message = _refusal(Ranks(hosts))
    assert (
        "host 0 counted different records in the same shards: 5 on rank 0, 4 on rank 1" in message
    )


@pytest.mark.parametrize(("part", "parts"), [(0, 2), (1, 3), (2, 3)])
def test_refuses_parts_that_do_not_make_a_host(tmp_path: Path, part: int, parts: int) -> None:
    hosts = _hosts(tmp_path, 5, 6)
    hosts[0][1] = RecordLoader(hosts[0][0].shards, settings=SETTINGS, part=part, parts=parts)
    message = _refusal(Ranks(hosts))
    assert message.startswith(f"The 2 ranks of host 0 read the parts 0 of 2, {part} of {parts}:")


def test_refuses_hosts_that_hold_the_same_shards(tmp_path: Path) -> None:
    hosts = _hosts(tmp_path, 5, 6, 0)
    write_shards(tmp_path / "copy", {"part-0.jsonl": numbered(5)})
    hosts.append(host_loaders(tmp_path / "copy", SETTINGS, parts=2))
    message = _refusal(Ranks(hosts))
    assert message.startswith("The hosts 0, 3 hold the same 1 shards: the channel is replicated")
    assert "2 times per epoch" in message
    assert message.endswith("Set the channel's S3DataDistributionType to ShardedByS3Key.")


def test_many_ranks_are_counted_not_listed(tmp_path: Path) -> None:
    hosts = _hosts(tmp_path, 12, parts=12)
    hosts[0][0] = RecordLoader(hosts[0][0].shards, settings=_settings(seed=9), part=0, parts=12)
    message = _refusal(Ranks(hosts))
    assert "9 on rank 0, 3 on ranks 1, 2, 3, 4, 5, 6, 7, 8 and 3 more." in message


def test_every_statement_fits_a_signed_64_bit_integer(tmp_path: Path) -> None:
    settings = _settings(seed=2**63 - 1)
    write_shards(tmp_path, {"a.jsonl": numbered(3)})
    ranks = Ranks([host_loaders(tmp_path, settings)])
    assert ranks.agree(2**40) == [EpochPlan(counts=(3,), batch_size=4)]
    assert all(0 <= integer < 2**63 for integer in ranks._statement(0, 2**40))
