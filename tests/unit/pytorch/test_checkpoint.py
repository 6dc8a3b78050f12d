"""What a rank writes and takes over, without other ranks."""

import math
import random
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from training.checkpoints import NO_TROUBLE
from training.contract.hyperparameters import TrainingHyperparameters
from training.pytorch.batch_norm import Statistics
from training.pytorch.checkpoint import EpochLosses, LearnerTensors, rank_file
from training.pytorch.loop import Learner
from training.pytorch.precision import Precision
from training.pytorch.random_states import random_states, restore_random_states, seed_epoch
from training.pytorch.ranks import Ranks
from training.pytorch.schedule import make_schedule
from training.pytorch.sharded_checkpoint import write_shards
from training.pytorch.tasks.text import TextTask

CPU = torch.device("cpu")
SETTINGS = TrainingHyperparameters(
    hash_buckets=64, embedding_dim=4, hidden_dim=4, schedule="cosine"
)


def ranks(rank: int) -> Ranks:
    return Ranks(rank=rank, world_size=2, local_rank=rank, local_world_size=2, device=CPU)


class Normalized(torch.nn.Module):
    """A model with buffers that each rank has its own of."""

    def __init__(self) -> None:
        super().__init__()
        self.line = torch.nn.Linear(3, 1)
        self.norm = torch.nn.BatchNorm1d(3)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        outputs: torch.Tensor = self.line(self.norm(inputs))
        return outputs


def trained(seed: int) -> Learner:
    """A learner after two steps on random numbers."""
    torch.manual_seed(seed)
    model = Normalized()
    task = TextTask(SETTINGS)
    optimizer = task.build_optimizer(model)
    learner = Learner(
        task=task,
        model=model,
        replica=model,
        optimizer=optimizer,
        schedule=make_schedule(SETTINGS, optimizer, 10),
        precision=Precision(SETTINGS, CPU),
        statistics=Statistics(model),
    )
    for _ in range(2):
        learner.optimizer.zero_grad()
        model(torch.randn(4, 3)).sum().backward()
        learner.optimizer.step()
        learner.schedule.step()
    return learner


def step(learner: Learner) -> torch.Tensor:
    """Take one more step on fixed numbers; returns the weights after it."""
    learner.optimizer.zero_grad()
    learner.model(torch.arange(12.0).reshape(4, 3)).square().sum().backward()
    learner.optimizer.step()
    return torch.cat([weight.detach().flatten() for weight in learner.model.parameters()])


def test_weights_optimizer_and_own_buffers_come_back(tmp_path: Path) -> None:
    chief, other = trained(1), trained(2)
    LearnerTensors(chief, ranks(0)).write(tmp_path)
    LearnerTensors(other, ranks(1)).write(tmp_path)
    assert rank_file(tmp_path, 1).stat().st_size < rank_file(tmp_path, 0).stat().st_size
    fresh = trained(3)
    LearnerTensors(fresh, ranks(1)).read(tmp_path, 2)
    for name, buffer in fresh.model.named_buffers():
        assert torch.equal(buffer, dict(other.model.named_buffers())[name])
    assert fresh.learning_rate == chief.learning_rate
    assert fresh.updates == 2
    assert torch.equal(step(fresh), step(chief))


def test_a_gpu_without_bf16_begins_with_a_scale_of_its_own(tmp_path: Path) -> None:
    chief = trained(1)
    LearnerTensors(chief, ranks(0)).write(tmp_path)
    fp16 = Precision(replace(SETTINGS, mixed_precision="fp16"), CPU)
    fresh = replace(trained(3), precision=fp16)
    LearnerTensors(fresh, ranks(0)).read(tmp_path, 2)
    assert fresh.precision.scaler.get_scale() == fp16.scaler.get_scale() == 2.0**16
    assert torch.equal(step(fresh), step(chief))


def test_a_rank_that_there_was_not_takes_the_chief_s_buffers(tmp_path: Path) -> None:
    chief = trained(1)
    LearnerTensors(chief, ranks(0)).write(tmp_path)
    fresh = trained(3)
    LearnerTensors(fresh, ranks(1)).read(tmp_path, 1)
    assert fresh.model.state_dict().keys() == chief.model.state_dict().keys()
    for name, tensor in fresh.model.state_dict().items():
        assert torch.equal(tensor, chief.model.state_dict()[name])


@contextmanager
def files_of_at_most(size_bytes: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_disk_that_takes_no_more_is_told_as_such(tmp_path: Path) -> None:
    with files_of_at_most(1000), pytest.raises(OSError, match="File too large"):
        LearnerTensors(trained(1), ranks(0)).write(tmp_path)


def test_random_generators_come_back() -> None:
    seed_epoch(1, epoch=2, rank=3)
    states = random_states(CPU)

    def draw() -> tuple[float, float, float]:
        return torch.rand(1).item(), random.random(), np.random.rand()  # noqa: NPY002, S311 - what models may use

    first = draw()
    assert draw() != first
    restore_random_states(states, CPU)
    assert draw() == first


def test_every_epoch_and_rank_draws_otherwise() -> None:
    drawn = set()
    for epoch, rank in ((0, 0), (0, 1), (1, 0), (1, 1)):
        seed_epoch(7, epoch, rank)
        drawn.add(torch.rand(1).item())
    assert len(drawn) == 4


def test_losses_are_summed_and_the_first_bad_one_is_found() -> None:
    losses = EpochLosses(ranks(0))
    losses.restart(10.0)
    losses.add(1, torch.tensor(1.5))
    assert losses.first_bad() == NO_TROUBLE
    for number, value in ((2, 1.0), (3, float("inf")), (4, float("nan"))):
        losses.add(number, torch.tensor(value))
    assert losses.first_bad() == 3
    assert losses.first_bad() == NO_TROUBLE
    losses.restart(0.0)
    assert losses.total() == 0.0


def test_a_bad_loss_is_found_though_the_sum_was_asked_for_before() -> None:
    losses = EpochLosses(ranks(0))
    losses.add(1, torch.tensor(1.5))
    losses.add(2, torch.tensor(float("nan")))
    assert math.isnan(losses.total())
    losses.restart(0.25)
    losses.add(3, torch.tensor(1.0))
    assert losses.total() == 1.25
    assert losses.first_bad() == 2
    assert losses.first_bad() == NO_TROUBLE


@pytest.mark.filterwarnings("ignore:torch.distributed is disabled")  # there are no other ranks
def test_shards_are_written_again_where_a_lost_job_left_some(tmp_path: Path) -> None:
    learner = trained(1)
    first = write_shards(learner, ranks(0), tmp_path)
    names = [file.name for file in first]
    assert ".metadata" in names
    assert any(name.endswith(".distcp") for name in names)
    for file in first:
        file.write_bytes(file.read_bytes()[:5])  # torn
    (tmp_path / "__0_1.distcp").touch()  # more of them
    (tmp_path / "__1_0.distcp").touch()  # another rank's
    again = write_shards(learner, ranks(0), tmp_path)
    assert [file.name for file in again] == names
    assert all(file.stat().st_size > 5 for file in again)
    assert (tmp_path / "__1_0.distcp").exists()
