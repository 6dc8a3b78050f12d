"""Interrupted epochs on random files and hosts: nothing is lost, nothing comes twice."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from tests.property.shard_files import (
    NAMES,
    SHARD_FILES,
    Assignment,
    assignments_of,
    canonical,
    few_and_many,
    run_property,
    settings_of,
)
from tests.unit.records.host_data import Ranks, host_loaders, write_shards
from training.records import LoaderSettings, RecordLoader, agree, steps_of_epoch
from training.records.holdings import AllGather, digest_name

SETTINGS = settings_of(
    count=st.booleans(),
    # Blocks of a few records, and windows of a few blocks: stops inside of all of them.
    block_bytes=st.sampled_from([1, 40, 64, 100, 200, 400]),
    window_blocks=st.sampled_from([1, 2, 3, 8, 32]),
)
EPOCH = 3


def _json(state: dict[str, Any]) -> dict[str, Any]:
    """What a state is after a checkpoint was written and read."""
    read: dict[str, Any] = json.loads(json.dumps(state))
    return read


def _identical_rest(
    folder: Path, files: list[Any], loader_settings: LoaderSettings, parts: int, stop: int
) -> None:
    contents = {name: file.content(name) for name, file in zip(NAMES, files, strict=False)}
    write_shards(folder / "before", contents)
    # The same shards, elsewhere.
    write_shards(folder / "after", contents)
    loaders = host_loaders(folder / "before", loader_settings, parts=parts)
    whole = [[batch.records for batch in loader.epoch(EPOCH)] for loader in loaders]
    epochs = [loader.epoch(EPOCH) for loader in loaders]
    stops = [min(stop + part, len(batches)) for part, batches in enumerate(whole)]
    for epoch, batches in zip(epochs, stops, strict=True):
        for _ in range(batches):
            next(epoch)
    states = [_json(epoch.state_dict()) for epoch in epochs]
    for part, again in enumerate(host_loaders(folder / "after", loader_settings, parts=parts)):
        again.load_state_dict(list(reversed(states)))
        assert _json(again.epoch(EPOCH).state_dict()) == states[part]
        rest = [batch.records for batch in again.epoch(EPOCH)]
        assert rest == whole[part][stops[part] :]
        # The next epoch is a whole one.
        following = [batch.records for batch in again.epoch(EPOCH + 1)]
        assert following == [batch.records for batch in loaders[part].epoch(EPOCH + 1)]


@few_and_many
def test_the_rest_after_any_batch_is_identical(examples: settings) -> None:
    run_property(
        _identical_rest,
        examples,
        files=st.lists(SHARD_FILES, max_size=len(NAMES)),
        loader_settings=SETTINGS,
        parts=st.integers(1, 3),
        stop=st.integers(0, 20),
    )


@dataclass(frozen=True)
class Run:
    """One stretch of an epoch: who holds what, and after how many batches each rank stops."""

    assignment: Assignment
    devices: int
    batches: list[int]


@st.composite
def runs(draw: st.DrawFn) -> list[Run]:
    files = draw(st.lists(SHARD_FILES, max_size=len(NAMES)))
    stretches = draw(st.integers(2, 4))
    return [
        Run(
            draw(assignments_of(files)),
            draw(st.integers(1, 3)),
            draw(st.lists(st.integers(0, 8), min_size=12, max_size=12)),
        )
        for _ in range(stretches)
    ]


def _nothing_lost_nothing_twice(
    folder: Path, stretches: list[Run], loader_settings: LoaderSettings
) -> None:
    used: list[dict[str, Any]] = []
    states: list[dict[str, Any]] = []
    expected = stretches[0].assignment.records()
    for number, run in enumerate(stretches):
        hosts = run.assignment.loaders(folder / str(number), loader_settings, run.devices)
        ranks = Ranks(hosts)
        if states:
            for loader in ranks.loaders:
                loader.load_state_dict(states)
        counts = [loader.segment(EPOCH).records for loader in ranks.loaders]
        if loader_settings.count:
            assert sum(count or 0 for count in counts) == len(expected) - len(used)
        _check_agreement(ranks, loader_settings)
        states = []
        is_last = number == len(stretches) - 1
        for loader, batches in zip(ranks.loaders, run.batches, strict=False):
            epoch = loader.epoch(EPOCH)
            for _ in range(10**6 if is_last else batches):
                batch = next(epoch, None)
                if batch is None:
                    break
                used += batch.records
            states.append(_json(epoch.state_dict()))
            epoch.close()
    assert canonical(used) == canonical(expected)


def _check_agreement(ranks: Ranks, loader_settings: LoaderSettings) -> None:
    """Let the ranks meet, as in a job: it must not fail, and takes all as many collectives."""

    def meet(rank: int, all_gather: AllGather) -> None:
        loader, host_rank = ranks.loaders[rank], ranks.host_ranks[rank]
        if loader_settings.count:
            agree(loader, epoch=EPOCH, host_rank=host_rank, all_gather=all_gather)
        else:
            steps = steps_of_epoch(loader, epoch=EPOCH, host_rank=host_rank, all_gather=all_gather)
            next(steps, None)

    ranks.run(meet)
    assert len(set(ranks.collectives)) == 1


@few_and_many
def test_every_record_is_used_once_over_several_resumes_on_other_hosts(examples: settings) -> None:
    run_property(_nothing_lost_nothing_twice, examples, stretches=runs(), loader_settings=SETTINGS)


def _deterministic(folder: Path, stretches: list[Run], loader_settings: LoaderSettings) -> None:
    first, second = stretches[:2]
    loaders: list[RecordLoader] = []
    for loaders_of_host in first.assignment.loaders(folder / "0", loader_settings, first.devices):
        loaders += loaders_of_host
    states = []
    for loader, batches in zip(loaders, first.batches, strict=False):
        epoch = loader.epoch(EPOCH)
        for _ in range(batches):
            next(epoch, None)
        states.append(_json(epoch.state_dict()))
    orders = []
    for copy, given in (("1", states), ("2", list(reversed(states)))):
        rest = []
        hosts = second.assignment.loaders(folder / copy, loader_settings, second.devices)
        for loader in Ranks(hosts).loaders:
            loader.load_state_dict(given)
            # As agree() does: here nobody but these loaders knows which shards there are.
            loader.holdings = _all_held(loader)
            rest.append([batch.records for batch in loader.epoch(EPOCH)])
        orders.append(rest)
    assert orders[0] == orders[1]


def _all_held(loader: RecordLoader) -> dict[int, int]:
    assert loader.resumption is not None
    return {digest_name(name): size for name, size in loader.resumption.sizes.items()}


@few_and_many
def test_two_resumes_from_the_same_states_are_identical(examples: settings) -> None:
    run_property(_deterministic, examples, stretches=runs(), loader_settings=SETTINGS)
