import logging
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.unit.records.host_data import Ranks, host_loaders, numbered, write_shards
from training.records import AgreementError, EpochPlan, LoaderSettings, RecordLoader, find_shards
from training.records.holdings import digest_name

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


def test_all_ranks_get_one_plan_from_one_collective_per_epoch(tmp_path: Path) -> None:
    ranks = Ranks(_hosts(tmp_path, 13, 0, 4))
    plan = EpochPlan(counts=(6, 7, 0, 0, 2, 2), batch_size=4)
    assert ranks.agree(5) == [plan] * 6
    # In a job's first epoch, one more tells all hosts which of them holds which shard.
    assert ranks.collectives == [2] * 6
    assert ranks.agree(6) == [plan] * 6
    assert ranks.collectives == [3] * 6


def test_one_host_with_shards_need_not_tell_which(tmp_path: Path) -> None:
    ranks = Ranks(_hosts(tmp_path, 0, 7, 0))
    assert ranks.agree() == [EpochPlan(counts=(0, 0, 3, 4, 0, 0), batch_size=4)] * 6
    assert ranks.collectives == [1] * 6


def test_all_ranks_refuse_a_shard_that_two_hosts_hold(tmp_path: Path) -> None:
    hosts = _hosts(tmp_path, 5, 6, 7)
    shared = {f"deep/é {n}.jsonl": numbered(2, first=90 + n) for n in range(3)}
    for host in (1, 2):
        write_shards(tmp_path / f"algo-{host + 1}", shared)
        hosts[host] = host_loaders(tmp_path / f"algo-{host + 1}", SETTINGS, parts=host + 1)
    ranks = Ranks(hosts)
    message = _refusal(ranks)
    assert message.startswith("The hosts 1, 2 both hold the shard deep/é ")
    assert ".jsonl and 2 more: their records would be used several times" in message
    assert ranks.collectives == [3] * 7


def test_hosts_may_hold_many_shards_between_ranks_of_any_number(tmp_path: Path) -> None:
    hosts = []
    for host, (shards, parts) in enumerate([(7, 3), (1, 1), (2, 4), (0, 2)]):
        contents = {f"{host}-{n}.jsonl": numbered(1) for n in range(shards)}
        hosts.append(
            host_loaders(write_shards(tmp_path / str(host), contents), SETTINGS, parts=parts)
        )
    ranks = Ranks(hosts)
    assert all(isinstance(plan, EpochPlan) for plan in ranks.agree())
    names = [
        f"{host}-{n}.jsonl" for host, shards in [(0, 7), (1, 1), (2, 2)] for n in range(shards)
    ]
    size = len(numbered(1))
    expected = {digest_name(name): size for name in names}
    assert all(loader.holdings == expected for loader in ranks.loaders)


def test_dropping_plans_full_batches_of_all_ranks_only() -> None:
    plan = EpochPlan(counts=(9, 8, 13), batch_size=4, uneven="drop")
    assert plan.steps == 2
    assert [plan.records_in_step(step) for step in range(2)] == [12, 12]
    assert plan.records == 24
    assert EpochPlan(counts=(9, 8, 13), batch_size=4).records == 30
    assert EpochPlan(counts=(9, 0), batch_size=4, uneven="drop").steps == 0


def test_a_host_with_most_steps_is_warned_of_by_its_shards(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    hosts = _hosts(tmp_path, 9, 40, 8)
    write_shards(tmp_path / "algo-2", {"b.jsonl": numbered(60)})
    hosts[1] = host_loaders(tmp_path / "algo-2", SETTINGS, parts=2)
    ranks = Ranks(hosts)
    with caplog.at_level(logging.WARNING):
        ranks.agree(0)
        ranks.agree(1)
    (message,) = caplog.messages
    assert message.startswith("host 1 takes 13 steps per epoch, the ranks take 5.2 on average")
    assert "the largest b.jsonl (60 records), part-1.jsonl (40 records)." in message


def test_hosts_with_almost_equal_steps_are_not_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        Ranks(_hosts(tmp_path, 401, 403, 400)).agree()
    assert caplog.messages == []


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
        ("count", False, "1 on ranks 0, 1, 2, 0 on rank 3"),
    ],
)
def test_refuses_different_settings(tmp_path: Path, name: str, value: int, shown: str) -> None:
    hosts = _hosts(tmp_path, 5, 6)
    hosts[1][1] = RecordLoader(
        hosts[1][1].shards, settings=_settings(**{name: value}), part=1, parts=2
    )
    message = _refusal(Ranks(hosts))
    said = "counted" if name == "count" else name
    assert message.startswith(f"The ranks disagree on {said}: {shown}. One job has one value")


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
    # Ranks checks each integer.
    assert ranks.agree(2**40) == [EpochPlan(counts=(3,), batch_size=4)]
