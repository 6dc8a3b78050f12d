"""The data layer on random files, partitions and settings.

Each property runs with few, repeatable examples by default and with many random ones when slow
tests are asked for.
"""

from pathlib import Path
from random import Random

import pytest
from hypothesis import settings
from hypothesis import strategies as st

from tests.property.shard_files import (
    NAMES,
    SETTINGS,
    SHARD_FILES,
    Assignment,
    ShardFile,
    assignments,
    canonical,
    few_and_many,
    run_property,
)
from tests.unit.records.host_data import Ranks, host_loaders, records_of, write_shards
from training.records import EpochPlan, LoaderSettings, RecordError


def _every_record_once(
    folder: Path, files: list[ShardFile], loader_settings: LoaderSettings, parts: int
) -> None:
    named = dict(zip(NAMES, files, strict=False))
    write_shards(folder, {name: file.content(name) for name, file in named.items()})
    expected = [record for name, file in named.items() for record in file.records(name)]
    loaders = host_loaders(folder, loader_settings, parts=parts)
    for epoch in range(2):
        by_part = [list(loader.epoch(epoch)) for loader in loaders]
        used = [record for batches in by_part for batch in batches for record in batch.records]
        assert canonical(used) == canonical(expected)
        sizes = [[len(batch) for batch in batches] for batches in by_part]
        assert [sum(part_sizes) for part_sizes in sizes] == list(loaders[0].counts)
        assert max(loaders[0].counts) - min(loaders[0].counts) <= 1
        for part_sizes in sizes:
            assert all(size == loader_settings.batch_size for size in part_sizes[:-1])
            assert all(1 <= size <= loader_settings.batch_size for size in part_sizes[-1:])
        for batches in by_part:
            for batch in batches:
                for index, record in enumerate(batch.records):
                    name, number = record["id"].split(":")
                    assert batch.locate(index) == f"{name}, line {int(number) + 1}"


@few_and_many
def test_every_record_is_used_once_and_located(examples: settings) -> None:
    run_property(
        _every_record_once,
        examples,
        files=st.lists(SHARD_FILES, max_size=len(NAMES)),
        loader_settings=SETTINGS,
        parts=st.integers(1, 4),
    )


def _one_sequence(
    folder: Path, files: list[ShardFile], loader_settings: LoaderSettings, other_batch_size: int
) -> None:
    contents = {name: file.content(name) for name, file in zip(NAMES, files, strict=False)}
    write_shards(folder / "one", contents)
    # The same shards, made in another order elsewhere.
    write_shards(folder / "two", dict(reversed(contents.items())))
    alone = records_of(host_loaders(folder / "one", loader_settings), epoch=1)
    assert records_of(host_loaders(folder / "two", loader_settings), epoch=1) == alone
    other = LoaderSettings(
        batch_size=other_batch_size,
        seed=loader_settings.seed,
        shuffle=loader_settings.shuffle,
        block_bytes=loader_settings.block_bytes,
        window_blocks=loader_settings.window_blocks,
    )
    for parts in (2, 3):
        loaders = host_loaders(folder / "two", other, parts=parts)
        # Parts read in any order, after another epoch was begun and left.
        for loader in reversed(loaders):
            next(loader.epoch(0), None)
        by_part = [records_of([loader], epoch=1) for loader in reversed(loaders)]
        assert [record for records in reversed(by_part) for record in records] == alone


@few_and_many
def test_the_order_depends_on_data_seed_and_epoch_alone(examples: settings) -> None:
    run_property(
        _one_sequence,
        examples,
        files=st.lists(SHARD_FILES, max_size=len(NAMES)),
        loader_settings=SETTINGS,
        other_batch_size=st.integers(1, 6),
    )


def _another_order(
    folder: Path, seed: int, epochs: list[int], block_bytes: int, window_blocks: int
) -> None:
    content = b"".join(b'{"id": %d}\n' % n for n in range(40))
    write_shards(folder, {"a.jsonl": content, "b.jsonl": content.replace(b": ", b": 1")})
    loader_settings = LoaderSettings(
        batch_size=8, seed=seed, block_bytes=block_bytes, window_blocks=window_blocks
    )
    (loader,) = host_loaders(folder, loader_settings)
    # 80 records in at least 6 blocks: two equal orders by chance are 1 in 6! x (13!)^6 or rarer.
    orders = {tuple(record["id"] for record in records_of([loader], epoch)) for epoch in epochs}
    assert len(orders) == len(epochs)


@few_and_many
def test_different_epochs_have_different_orders(examples: settings) -> None:
    run_property(
        _another_order,
        examples,
        seed=st.integers(0, 2**63 - 1),
        epochs=st.lists(st.integers(0, 2**40), min_size=2, max_size=3, unique=True),
        block_bytes=st.sampled_from([64, 128, 160]),
        window_blocks=st.sampled_from([1, 2, 5, 128]),
    )


def _each_record_once_over_all_ranks(
    folder: Path, assignment: Assignment, loader_settings: LoaderSettings, devices: int
) -> None:
    hosts = assignment.loaders(folder, loader_settings, devices)
    ranks = Ranks(hosts)
    expected = assignment.records()
    for epoch in range(2):
        plans = ranks.agree(epoch)
        plan = plans[0]
        assert isinstance(plan, EpochPlan)
        assert plans == [plan] * len(ranks.loaders)
        holding = sum(any(loader.shards for loader in loaders) for loaders in hosts)
        assert ranks.collectives == [epoch + 1 + (holding > 1)] * len(ranks.loaders)
        by_rank = [[batch.records for batch in loader.epoch(epoch)] for loader in ranks.loaders]
        used = [record for batches in by_rank for batch in batches for record in batch]
        assert canonical(used) == canonical(expected)
        # Every rank knows what all of them do in each step, and nobody needs another step.
        assert plan.steps == max(len(batches) for batches in by_rank)
        for step in range(plan.steps):
            in_step = [len(batches[step]) if step < len(batches) else 0 for batches in by_rank]
            planned = [plan.records_of_rank_in_step(r, step) for r in range(len(by_rank))]
            assert planned == in_step
            assert plan.records_in_step(step) == sum(in_step) > 0


@few_and_many
def test_each_record_is_used_once_over_any_partition_among_hosts(examples: settings) -> None:
    run_property(
        _each_record_once_over_all_ranks,
        examples,
        assignment=assignments(),
        loader_settings=SETTINGS,
        devices=st.integers(1, 3),
    )


def _random_assignment(hosts: int, draw: int) -> Assignment:
    """Draw shards of 1 to 60 records, small ones as likely as large ones, and a host for each."""
    random = Random(100 * hosts + draw)  # noqa: S311 - repeatable test data
    sizes = [round(60 ** random.random()) for _ in range(random.randint(1, len(NAMES)))]
    files = [
        ShardFile(
            texts=["x" * random.randrange(30) for _ in range(size)],
            line_end=random.choice(["\n", "\r\n"]),
            byte_order_mark=random.random() < 0.5,
            final_line_end=random.random() < 0.5,
            ascii_only=True,
        )
        for size in sizes
    ]
    return Assignment(files, hosts, [random.randrange(hosts) for _ in files])


JOBS = [
    (hosts, devices, draw) for hosts in (1, 2, 3, 4) for devices in (1, 2, 3) for draw in range(6)
]


@pytest.mark.parametrize(("hosts", "devices", "draw"), JOBS)
def test_each_record_is_used_once_on_unequal_shards(
    tmp_path: Path, hosts: int, devices: int, draw: int
) -> None:
    _each_record_once_over_all_ranks(
        tmp_path,
        _random_assignment(hosts, draw),
        LoaderSettings(batch_size=4, seed=draw, block_bytes=150, window_blocks=3),
        devices,
    )


def test_the_drawn_jobs_differ_and_have_hosts_without_data() -> None:
    jobs = {
        (devices, *_random_assignment(hosts, draw).records_of_hosts())
        for hosts, devices, draw in JOBS
    }
    assert len(jobs) >= 60
    assert sum(0 in records for _, *records in jobs) >= 15
    assert sum(len(records) > 1 and min(records) > 0 for _, *records in jobs) >= 15
    assert all(max(records) > 0 for _, *records in jobs)


BAD_LINES = [
    b"",
    b" \t",
    b"hello",
    b'{"id": 1',
    b'{"id": 1}{"id": 2}',
    b'["id"]',
    b"17",
    b"null",
    b'{"id": NaN}',
    b'{"id": "\xe9"}',
    b'{"id": "\xf0\x9f\x98"}',
    b'{"id": "\\ud83d"}',
    b'\xff\xfe{\0"\0i\0d\0"\0',
    b'\xef\xbb\xbf\xef\xbb\xbf{"id": 1}',
]


def _bad_line_is_named(
    folder: Path, bad: bytes, before: int, after: int, loader_settings: LoaderSettings, parts: int
) -> None:
    good = b'{"id": 1}'
    lines = [*[good] * before, bad, *[good] * after]
    write_shards(folder, {"deep/bad.jsonl": b"\n".join(lines) + b"\n", "good.jsonl": good})
    messages = []
    for loader in host_loaders(folder, loader_settings, parts=parts):
        try:
            records_of([loader])
        except RecordError as error:
            messages.append(str(error))
    # One part holds the line, the others know nothing of it.
    assert len(messages) == 1
    assert messages[0].startswith(f"deep/bad.jsonl, line {before + 1}: ")


@few_and_many
def test_a_bad_line_is_named_by_shard_and_number(examples: settings) -> None:
    run_property(
        _bad_line_is_named,
        examples,
        bad=st.sampled_from(BAD_LINES),
        before=st.integers(0, 12),
        after=st.integers(0, 12),
        loader_settings=SETTINGS,
        parts=st.integers(1, 4),
    )
