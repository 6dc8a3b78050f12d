from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from tests.unit.records.host_data import Ranks, host_loaders, numbered, write_shards
from training.records import AllGather, LoaderSettings, Step, steps_of_epoch, voting


def _ranks(folder: Path, records: list[int], parts: int = 1, **changes: Any) -> Ranks:  # noqa: ANN401 - any of the settings
    settings = LoaderSettings(**{"batch_size": 2, "seed": 3, "block_bytes": 64} | changes)
    hosts, first = [], 0
    for host, count in enumerate(records):
        contents = {f"{host}.jsonl": numbered(count, first=first)} if count else {}
        hosts.append(
            host_loaders(write_shards(folder / str(host), contents), settings, parts=parts)
        )
        first += count
    return Ranks(hosts)


def _steps(ranks: Ranks, taken: int | None = None) -> list[list[Step]]:
    def take(rank: int, all_gather: AllGather) -> list[Step]:
        loader, host_rank = ranks.loaders[rank], ranks.host_ranks[rank]
        steps = steps_of_epoch(loader, epoch=1, host_rank=host_rank, all_gather=all_gather)
        return list(islice(steps, taken))

    return ranks.run(take)


def _ids(steps: list[Step]) -> list[int]:
    return [r["id"] for step in steps if step.batch for r in step.batch.records]


@pytest.mark.parametrize("count", [True, False])
@pytest.mark.parametrize("vote_steps", [1, 2, 5, 32])
@pytest.mark.parametrize("records", [[9, 4, 0], [64, 64], [1], [0, 0], [7, 128]])
def test_weighting_uses_every_record_and_knows_each_steps_sum(
    tmp_path: Path,
    records: list[int],
    vote_steps: int,
    count: bool,  # noqa: FBT001 - drawn
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(voting, "VOTE_STEPS", vote_steps)
    ranks = _ranks(tmp_path, records, count=count)
    steps_of_ranks = _steps(ranks)
    longest = -(-max(records) // 2)
    assert [len(steps) for steps in steps_of_ranks] == [longest] * len(records)
    assert sorted(i for steps in steps_of_ranks for i in _ids(steps)) == list(range(sum(records)))
    for of_ranks in zip(*steps_of_ranks, strict=True):
        used = sum(len(step.batch) if step.batch else 0 for step in of_ranks)
        assert [step.records for step in of_ranks] == [used] * len(records)
        assert used > 0
    assert len(set(ranks.collectives)) == 1
    if not count:
        votes = longest // vote_steps + 1
        assert ranks.collectives[0] == 1 + votes + (sum(map(bool, records)) > 1)


@pytest.mark.parametrize("count", [True, False])
@pytest.mark.parametrize("vote_steps", [1, 3, 32])
@pytest.mark.parametrize(("records", "steps"), [([9, 5, 20], 2), ([64, 64], 32), ([7, 0], 0)])
def test_dropping_takes_full_batches_of_all_ranks_only(
    tmp_path: Path,
    records: list[int],
    steps: int,
    vote_steps: int,
    count: bool,  # noqa: FBT001 - drawn
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(voting, "VOTE_STEPS", vote_steps)
    ranks = _ranks(tmp_path, records, count=count, uneven="drop")
    steps_of_ranks = _steps(ranks)
    assert [len(taken) for taken in steps_of_ranks] == [steps] * len(records)
    for taken in steps_of_ranks:
        assert len(set(_ids(taken))) == 2 * steps
        assert all(step.records == 2 * len(records) for step in taken)
        assert all(step.batch is not None and len(step.batch) == 2 for step in taken)
    assert len(set(ranks.collectives)) == 1


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_uncounted_ranks_of_a_host_share_its_records(tmp_path: Path, parts: int) -> None:
    steps_of_ranks = _steps(_ranks(tmp_path, [40, 3], parts=parts, count=False))
    assert sorted(i for steps in steps_of_ranks for i in _ids(steps)) == list(range(43))


def test_a_state_counts_the_steps_taken_not_those_looked_ahead(tmp_path: Path) -> None:
    whole = [_ids(steps) for steps in _steps(_ranks(tmp_path, [90, 70], count=False))]
    ranks = _ranks(tmp_path, [90, 70], count=False)
    begun = [_ids(steps) for steps in _steps(ranks, taken=7)]
    states = [loader.state_dict() for loader in ranks.loaders]
    again = _ranks(tmp_path, [90, 70], count=False)
    for loader in again.loaders:
        loader.load_state_dict(states)
    rest = [_ids(steps) for steps in _steps(again)]
    assert [a + b for a, b in zip(begun, rest, strict=True)] == whole


def test_uncounted_records_cannot_be_planned(tmp_path: Path) -> None:
    (message,) = {str(outcome) for outcome in _ranks(tmp_path, [3], count=False).agree()}
    assert message.startswith("count=False: records that were not counted cannot be planned.")


def test_one_rank_that_counts_while_others_do_not_is_told_to_all(tmp_path: Path) -> None:
    ranks = _ranks(tmp_path, [4, 5], count=False)
    ranks.loaders[1] = _ranks(tmp_path, [4, 5]).loaders[1]

    def begin(rank: int, all_gather: AllGather) -> str:
        loader, host_rank = ranks.loaders[rank], ranks.host_ranks[rank]
        steps = steps_of_epoch(loader, epoch=0, host_rank=host_rank, all_gather=all_gather)
        with pytest.raises(ValueError, match="disagree on counted: 0 on rank 0, 1 on rank 1") as e:
            next(steps)
        return str(e.value)

    assert len(set(ranks.run(begin))) == 1
