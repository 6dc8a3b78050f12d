"""Whole epochs of whole jobs, counted and uncounted, with every output and both policies."""

import json
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from tests.property.shard_files import (
    Assignment,
    assignments,
    canonical,
    few_and_many,
    run_property,
    settings_of,
)
from tests.unit.records.host_data import Ranks, lines_of
from training.records import AllGather, LoaderSettings, Step, steps_of_epoch

SETTINGS = settings_of(
    count=st.booleans(),
    uneven=st.sampled_from(["weight", "drop"]),
    output=st.sampled_from(["records", "str", "bytes", "packed", "arrow"]),
)


def _all_ranks_take_the_same_steps(
    folder: Path, assignment: Assignment, loader_settings: LoaderSettings, devices: int
) -> None:
    ranks = Ranks(assignment.loaders(folder, loader_settings, devices))

    def take(rank: int, all_gather: AllGather) -> list[Step]:
        loader, host_rank = ranks.loaders[rank], ranks.host_ranks[rank]
        return list(steps_of_epoch(loader, epoch=0, host_rank=host_rank, all_gather=all_gather))

    steps_of_ranks = ranks.run(take)
    assert len(set(ranks.collectives)) == 1
    sizes_of_ranks = [
        [len(step.batch) if step.batch else 0 for step in steps] for steps in steps_of_ranks
    ]
    # zip is strict: all ranks take as many steps.
    for steps, sizes in zip(
        zip(*steps_of_ranks, strict=True), zip(*sizes_of_ranks, strict=True), strict=True
    ):
        assert {step.records for step in steps} == {sum(sizes)}
        assert sum(sizes) > 0
        if loader_settings.uneven == "drop":
            assert set(sizes) == {loader_settings.batch_size}
    used = _records(steps_of_ranks)
    expected = canonical(assignment.records())
    if loader_settings.uneven == "weight":
        assert canonical(used) == expected
    else:
        assert canonical(used) <= expected
        held = [
            sum(1 for batch in loader.epoch(0) if len(batch) == loader_settings.batch_size)
            for loader in ranks.loaders
        ]
        assert len(steps_of_ranks[0]) == min(held)


def _records(steps_of_ranks: list[list[Step]]) -> list[dict[str, Any]]:
    batches = [step.batch for steps in steps_of_ranks for step in steps if step.batch is not None]
    return [json.loads(line) for batch in batches for line in lines_of(batch.data)]


@few_and_many
def test_all_ranks_take_the_same_steps_and_collectives(examples: settings) -> None:
    run_property(
        _all_ranks_take_the_same_steps,
        examples,
        assignment=assignments(),
        loader_settings=SETTINGS,
        devices=st.integers(1, 3),
    )
