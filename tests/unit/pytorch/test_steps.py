"""What a rank steps on, without other ranks."""

import threading
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeVar

import pytest
import torch
from torch import Tensor

from training.contract.hyperparameters import TrainingHyperparameters
from training.pytorch.ranks import Ranks
from training.pytorch.steps import planned_steps
from training.pytorch.task import Encoded
from training.pytorch.tasks.text import TextTask
from training.records import Batch, EpochPlan, LoaderSettings, RecordLoader, find_shards

T = TypeVar("T")


class Inputs(NamedTuple):
    numbers: Tensor


class Lending(Ranks):
    """A rank on another device than memory, beside one that has no records."""

    def broadcast(self, thing: T | None, sender: int) -> T:
        assert sender == 0
        lent: Any = thing
        # What lies on a device would come to the same one of another host, which may lack it.
        assert {tensor.device.type for tensor in lent} == {"cpu"}
        return lent  # type: ignore[no-any-return] # a tuple of tensors


def test_what_a_rank_lends_lies_in_memory() -> None:
    batch: Any = [1, 2]

    def encode_ahead(batches: Iterable[Batch]) -> Iterator[Encoded[Inputs]]:
        return (Encoded(each, Inputs(torch.ones(2))) for each in batches)

    task: Any = SimpleNamespace(settings=TrainingHyperparameters(), encode_ahead=encode_ahead)
    ranks = Lending(
        rank=0, world_size=2, local_rank=0, local_world_size=1, device=torch.device("meta")
    )
    (step,) = planned_steps(task, [batch], EpochPlan(counts=(2, 0), batch_size=2), ranks)
    assert step.inputs.numbers.device.type == "meta"


@pytest.mark.parametrize("uneven", ["weight", "drop"])
def test_an_epoch_that_is_left_in_its_midst_reads_no_further(tmp_path: Path, uneven: str) -> None:
    lines = '{"text": "some words", "label": 1}\n' * 4000
    for number in range(4):
        (tmp_path / f"part-{number}.jsonl").write_text(lines)
    settings = LoaderSettings(
        batch_size=2, seed=0, block_bytes=4096, window_blocks=2, uneven=uneven, output="packed"
    )
    loader = RecordLoader(find_shards(tmp_path), settings=settings, part=0, parts=1)
    plan = EpochPlan(counts=loader.counts, batch_size=2, uneven=uneven)
    task = TextTask(TrainingHyperparameters(batch_size=2, hash_buckets=64))
    ranks = Ranks(
        rank=0, world_size=1, local_rank=0, local_world_size=1, device=torch.device("cpu")
    )
    with closing(planned_steps(task, loader.epoch(0), plan, ranks)) as steps:
        next(steps)
        assert "records" in {thread.name for thread in threading.enumerate()}
    # As a stop leaves it: the interpreter ends soon, and must not meet a thread that reads.
    assert "records" not in {thread.name for thread in threading.enumerate()}
    assert loader.has_begun
