from collections.abc import Sequence

import pytest
import torch
from torch import Tensor, nn

from training.contract.errors import ContractError
from training.pytorch.batch_norm import Statistics
from training.pytorch.ranks import Ranks


class Together(Ranks):
    """Rank 0 of two, whose sums are those of both: the other's numbers are known."""

    def sum_tensor(self, numbers: Tensor) -> Tensor:
        return numbers + OTHERS.pop(0)


OTHERS: list[Tensor] = []


def rank_zero() -> Ranks:
    return Together(
        rank=0, world_size=2, local_rank=0, local_world_size=2, device=torch.device("cpu")
    )


class Normalized(nn.Module):
    def __init__(self, means: Sequence[float], variances: Sequence[float]) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.norm = nn.BatchNorm1d(2)
        self.norm.running_mean = torch.tensor(means)
        self.norm.running_var = torch.tensor(variances)
        self.norm.num_batches_tracked = torch.tensor(3)

    def forward(self, inputs: Tensor) -> Tensor:
        normalized: Tensor = self.norm(self.linear(inputs))
        return normalized

    def statistics(self) -> tuple[Tensor, Tensor]:
        assert self.norm.running_mean is not None
        assert self.norm.running_var is not None
        return self.norm.running_mean, self.norm.running_var


def test_shared_statistics_are_those_of_all_records() -> None:
    random = torch.Generator().manual_seed(0)
    parts = [torch.randn(600, 2, generator=random) + 4, torch.randn(200, 2, generator=random) * 3]
    statistics = [(part.mean(0), part.var(0, correction=0)) for part in parts]
    model = Normalized(*(tensor.tolist() for tensor in statistics[0]))
    mean, variance = (tensor.double() for tensor in statistics[1])
    OTHERS[:] = [torch.stack([mean, variance + mean.square()]) * 0.25, torch.tensor(5)]
    Statistics(model).share((600, 200), rank_zero())
    together = torch.cat(parts)
    shared_mean, shared_variance = model.statistics()
    assert torch.allclose(shared_mean, together.mean(0), atol=1e-5)
    assert torch.allclose(shared_variance, together.var(0, correction=0), rtol=1e-5)
    assert model.norm.num_batches_tracked == 8


def test_what_is_kept_does_not_change_and_lets_gradients_through() -> None:
    model = Normalized([0.5, 0.5], [2.0, 2.0])
    before = {name: tensor.clone() for name, tensor in model.named_buffers()}
    with Statistics(model).kept():
        (model(torch.randn(4, 2)).sum() * 0.0).backward()
    assert all(torch.equal(before[name], tensor) for name, tensor in model.named_buffers())
    assert model.norm.training
    assert all(weight.grad is not None for weight in model.parameters())
    with Statistics(model).kept(when=False):
        model(torch.randn(4, 2))
    assert not torch.equal(before["norm.running_mean"], model.statistics()[0])


def test_a_norm_that_waits_for_all_ranks_is_refused() -> None:
    model = nn.Sequential(nn.SyncBatchNorm(2))
    with pytest.raises(ContractError, match="The model's 0 is a SyncBatchNorm"):
        Statistics(model)
