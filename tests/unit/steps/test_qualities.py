"""The metrics of several classes and of numbers, in Model Registry's form."""

from typing import Any

import pytest
from sklearn.metrics import precision_recall_fscore_support

from training.contract.layout import QUALITY_PATH
from training.steps.multiclass import MulticlassConfusion
from training.steps.regression import RegressionErrors

COUNTS = ((5, 1, 0), (2, 8, 0), (1, 3, 0))


def test_several_classes() -> None:
    quality = MulticlassConfusion(COUNTS)
    pairs = [
        (actual, said)
        for actual, row in enumerate(COUNTS)
        for said, count in enumerate(row)
        for _ in range(count)
    ]
    precision, recall, f1, _ = precision_recall_fscore_support(
        *zip(*pairs, strict=True), average="weighted", zero_division=0
    )
    assert quality.evaluation() == {
        "multiclass_classification_metrics": {
            "accuracy": {"value": 13 / 20},
            "weighted_precision": {"value": pytest.approx(precision)},
            "weighted_recall": {"value": pytest.approx(recall)},
            "weighted_f1": {"value": pytest.approx(f1)},
            "confusion_matrix": {
                "0": {"0": 5, "1": 1, "2": 0},
                "1": {"0": 2, "1": 8, "2": 0},
                "2": {"0": 1, "1": 3, "2": 0},
            },
        },
        "quality": {"metric": "accuracy", "value": 13 / 20},
        "records": 20,
    }
    assert quality.summary() == (
        "accuracy 0.6500 on 20 test records of 3 classes (lowest recall 0.0000, class 2)"
    )


def test_numbers() -> None:
    # Targets 1, 2, 3, 6 (mean 3, spread 14); errors 1, -1, 0, 2.
    quality = RegressionErrors(
        records=4,
        target_sum=12.0,
        target_square_sum=50.0,
        squared_error_sum=6.0,
        absolute_error_sum=4.0,
    )
    assert quality.evaluation() == {
        "regression_metrics": {
            "mse": {"value": 1.5},
            "rmse": {"value": 1.5**0.5},
            "mae": {"value": 1.0},
            "r2": {"value": 1 - 6 / 14},
        },
        "quality": {"metric": "r2", "value": 1 - 6 / 14},
        "records": 4,
    }
    assert quality.summary() == "R2 0.5714 on 4 test records (rmse 1.22474, mae 1)"


@pytest.mark.parametrize("targets", [(7.1, 7.1, 7.1), ()])
def test_without_spread_nothing_is_explained(targets: tuple[float, ...]) -> None:
    quality = RegressionErrors(
        records=len(targets),
        target_sum=sum(targets),
        target_square_sum=sum(target**2 for target in targets),
        squared_error_sum=0.0,
        absolute_error_sum=0.0,
    )
    assert quality.value == 0.0
    assert quality.mse == quality.mae == 0.0


def test_the_gates_path_leads_to_the_one_number() -> None:
    found: Any = MulticlassConfusion(COUNTS).evaluation()
    for key in QUALITY_PATH.split("."):
        found = found[key]
    assert found == 13 / 20
