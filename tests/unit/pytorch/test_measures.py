import numpy as np
import pytest
import torch

from training.pytorch.measures import Classes, Regression, TwoClasses
from training.steps.confusion import Confusion
from training.steps.multiclass import MulticlassConfusion
from training.steps.regression import RegressionErrors


def test_classes_count_pairs() -> None:
    measure = Classes(3)
    sums = measure.sums(torch.tensor([0, 2, 2, 1]), torch.tensor([0, 2, 1, 1]))
    sums += measure.sums(torch.tensor([2]), torch.tensor([0]))
    assert sums.dtype == torch.float64
    quality = measure.quality(sums.tolist())
    assert quality == MulticlassConfusion(((1, 0, 1), (0, 1, 1), (0, 0, 1)))
    assert quality.value == 3 / 5
    assert quality.records == 5
    assert quality.metric == "accuracy"


def test_two_classes_know_which_is_looked_for() -> None:
    measure = TwoClasses()
    sums = measure.sums(torch.tensor([0, 1, 1, 1]), torch.tensor([0.0, 1.0, 0.0, 1.0]))
    assert measure.quality(sums.tolist()) == Confusion(
        true_negatives=1, false_positives=1, false_negatives=0, true_positives=2
    )


def test_regression_adds_up_over_batches() -> None:
    random = np.random.default_rng(1)
    targets = random.normal(50, 9, 1000)
    predictions = targets + random.normal(0, 3, 1000)
    measure = Regression()
    sums = torch.zeros(measure.size, dtype=torch.float64)
    for part in np.array_split(np.arange(1000), 7):
        sums += measure.sums(torch.tensor(predictions[part]), torch.tensor(targets[part]))
    quality = measure.quality(sums.tolist())
    assert isinstance(quality, RegressionErrors)
    errors = predictions - targets
    assert quality.records == 1000
    assert quality.rmse == pytest.approx(np.sqrt(np.mean(errors**2)), rel=1e-12)
    assert quality.mae == pytest.approx(np.mean(np.abs(errors)), rel=1e-12)
    r2 = 1 - np.sum(errors**2) / np.sum((targets - targets.mean()) ** 2)
    assert quality.value == pytest.approx(r2, rel=1e-9)
    assert quality.metric == "r2"
