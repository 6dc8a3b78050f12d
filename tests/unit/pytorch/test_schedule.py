import math

import pytest
import torch
from torch import nn

from training.contract.hyperparameters import TrainingHyperparameters
from training.pytorch.schedule import go_on, make_schedule, rate_of


def rates(total_updates: int, **values: object) -> list[float]:
    """Learning rates of all updates, and of one more."""
    settings = TrainingHyperparameters(learning_rate=0.5, **values)  # type: ignore[arg-type] # of any field
    optimizer = torch.optim.SGD(nn.Linear(1, 1).parameters(), lr=0.5)
    schedule = make_schedule(settings, optimizer, total_updates)
    found = []
    for _ in range(total_updates + 1):
        found.append(float(optimizer.param_groups[0]["lr"]))
        assert found[-1] == rate_of(schedule, schedule.last_epoch)
        optimizer.step()
        schedule.step()
    return found


def test_constant_by_default() -> None:
    assert rates(5) == [0.5] * 6


def test_warm_up_is_linear_and_begins_above_zero() -> None:
    assert rates(6, warmup_steps=4)[:5] == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5])


def test_cosine_goes_from_the_largest_to_zero() -> None:
    found = rates(10, schedule="cosine")
    assert found[0] == 0.5
    assert found[5] == pytest.approx(0.25)
    assert found[9] == pytest.approx((1 + math.cos(math.pi * 0.9)) / 4)
    assert found[10] == pytest.approx(0)
    assert found == sorted(found, reverse=True)


def test_cosine_begins_after_the_warm_up() -> None:
    found = rates(12, schedule="cosine", warmup_steps=2)
    assert found[1] < found[2] == 0.5
    assert found[7] == pytest.approx(0.25)


def test_a_warm_up_longer_than_the_training_ends_with_it() -> None:
    assert rates(3, schedule="cosine", warmup_steps=100)[:3] == pytest.approx([0.125, 0.25, 0.375])


def test_a_training_that_goes_on_with_more_epochs_comes_to_its_own_end() -> None:
    settings = TrainingHyperparameters(learning_rate=0.5, schedule="cosine")
    before, now = (torch.optim.SGD(nn.Linear(1, 1).parameters(), lr=0.5) for _ in range(2))
    shorter, longer = make_schedule(settings, before, 4), make_schedule(settings, now, 8)
    for _ in range(4):
        before.step()
        shorter.step()
    go_on(longer, shorter.state_dict())
    assert longer.last_epoch == 4
    assert now.param_groups[0]["lr"] == rates(8, schedule="cosine")[4]
    now.step()
    longer.step()
    assert now.param_groups[0]["lr"] == rates(8, schedule="cosine")[5]


def test_every_group_keeps_its_share_and_a_tensor_stays_the_same_one() -> None:
    settings = TrainingHyperparameters(learning_rate=0.5, schedule="cosine")
    captured = torch.tensor(0.5)
    groups = [
        {"params": nn.Linear(1, 1).parameters(), "lr": captured},
        {"params": nn.Linear(1, 1).parameters(), "lr": 0.25},
    ]
    optimizer = torch.optim.AdamW(groups)
    schedule = make_schedule(settings, optimizer, 4)
    optimizer.step()
    schedule.step()
    go_on(schedule, {**schedule.state_dict(), "last_epoch": 2})
    assert optimizer.param_groups[0]["lr"] is captured
    assert captured.item() == pytest.approx(0.25)
    assert optimizer.param_groups[1]["lr"] == pytest.approx(0.125)
