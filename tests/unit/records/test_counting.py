from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.unit.records.host_data import LostRankError, Ranks, ids_of, numbered, write_shards
from training.records import (
    AllGather,
    LoaderSettings,
    RecordError,
    RecordLoader,
    Shard,
    SharedCounting,
    find_shards,
)
from training.records.formats import line_blocks
from training.records.formats.line_blocks import index_lines

SETTINGS = LoaderSettings(batch_size=4, seed=3, block_bytes=64)
SIZES = [40, 1, 300, 7, 80, 2, 90, 33]


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    """Three hosts with eight shards, one and none."""
    contents = {f"{n}.jsonl": numbered(size, first=1000 * n) for n, size in enumerate(SIZES)}
    return [
        write_shards(tmp_path / "0", contents),
        write_shards(tmp_path / "1", {"x.jsonl": numbered(50, first=9000)}),
        write_shards(tmp_path / "2", {}),
    ]


def _make(
    places: Sequence[tuple[Path, int, int]], hosts: Sequence[int]
) -> tuple[Ranks, list[RecordLoader | Exception]]:
    """Make the loaders of all ranks at the same time: each of (folder, part, parts)."""
    # Their own loaders do not matter here: only the meeting of so many ranks.
    alone = [RecordLoader((), settings=SETTINGS, part=0, parts=1) for _ in places]
    ranks = Ranks([[loader] for loader in alone])

    def make(rank: int, all_gather: AllGather) -> RecordLoader | Exception:
        folder, part, parts = places[rank]
        sharing = SharedCounting(host_rank=hosts[rank], all_gather=all_gather)
        shards = find_shards(folder)
        try:
            return RecordLoader(shards, settings=SETTINGS, part=part, parts=parts, sharing=sharing)
        except (ValueError, LostRankError) as error:
            return error

    return ranks, ranks.run(make)


@pytest.mark.parametrize("parts", [1, 2, 3, 12])
def test_the_ranks_of_a_host_count_each_shard_once(
    folders: list[Path], parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[str] = []

    def noted(shard: Shard, block_bytes: int, *, count: bool) -> object:
        counted.extend([shard.name] * count)
        return index_lines(shard, block_bytes, count=count)

    places = [(folder, part, parts) for folder in folders for part in range(parts)]
    expected = [
        RecordLoader(find_shards(folder), settings=SETTINGS, part=part, parts=parts)
        for folder, part, parts in places
    ]
    monkeypatch.setattr("training.records.formats.json_lines.index_lines", noted)
    hosts = [host for host in range(3) for _ in range(parts)]
    ranks, loaders = _make(places, hosts)
    assert ranks.collectives == [2] * len(places)
    assert sorted(counted) == [*[f"{n}.jsonl" for n in range(8)], "x.jsonl"]
    for loader, alone in zip(loaders, expected, strict=True):
        assert isinstance(loader, RecordLoader)
        assert loader.counts == alone.counts
        assert ids_of([loader]) == ids_of([alone])


def test_ranks_count_about_as_many_bytes_each(folders: list[Path]) -> None:
    places = [(folders[0], part, 3) for part in range(3)]
    told: list[Sequence[int]] = []

    def all_gather(mine: Sequence[int]) -> Sequence[Sequence[int]]:
        told.append(mine)
        raise LostRankError

    for folder, part, parts in places:
        sharing = SharedCounting(host_rank=0, all_gather=all_gather)
        with pytest.raises(LostRankError):
            RecordLoader(
                find_shards(folder), settings=SETTINGS, part=part, parts=parts, sharing=sharing
            )
    blocks = [int(numbers[-1]) for numbers in told]
    # The largest shard has over half of the blocks; the others share out what is left.
    assert sum(blocks) == sum(-(-shard.size_bytes // 64) for shard in find_shards(folders[0]))
    assert min(blocks) > 0


def test_all_ranks_of_the_job_say_what_one_of_them_found(
    folders: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def shrunk(shard: Shard, *arguments: int) -> object:
        if shard.name == "4.jsonl":
            shard.path.write_bytes(b"{}\n")
        return _count_lines(shard, *arguments)

    _count_lines = line_blocks._count_lines
    monkeypatch.setattr(line_blocks, "_count_lines", shrunk)
    places = [(folders[0], 0, 2), (folders[0], 1, 2), (folders[1], 0, 1), (folders[2], 0, 1)]
    ranks, outcomes = _make(places, [0, 0, 1, 2])
    assert all(isinstance(outcome, RecordError) for outcome in outcomes)
    (message,) = {str(outcome) for outcome in outcomes}
    assert message.startswith("4.jsonl changed after the shards were listed")
    assert ranks.collectives == [2] * 4


@pytest.mark.parametrize("odd", [(0, 2), (1, 3)])
def test_ranks_that_do_not_fit_together_count_alone(
    folders: list[Path], odd: tuple[int, int]
) -> None:
    places = [(folders[0], 0, 2), (folders[0], *odd), (folders[1], 0, 1)]
    ranks, loaders = _make(places, [0, 0, 1])
    assert ranks.collectives == [2] * 3
    assert all(isinstance(loader, RecordLoader) for loader in loaders)
    assert [sum(loader.counts) for loader in loaders if isinstance(loader, RecordLoader)] == [
        sum(SIZES),
        sum(SIZES),
        50,
    ]


def test_ranks_that_saw_different_shards_count_alone(folders: list[Path]) -> None:
    places = [(folders[0], 0, 2), (folders[1], 1, 2)]
    _, loaders = _make(places, [0, 0])
    assert [sum(loader.counts) for loader in loaders if isinstance(loader, RecordLoader)] == [
        sum(SIZES),
        50,
    ]
