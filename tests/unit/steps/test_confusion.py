import json

import pytest

from training.contract.layout import ACCURACY_PATH
from training.steps.confusion import Confusion

SOME = Confusion(true_negatives=50, false_positives=5, false_negatives=10, true_positives=35)


def test_metrics() -> None:
    assert SOME.records == 100
    assert SOME.accuracy == 0.85
    assert SOME.precision == 35 / 40
    assert SOME.recall == 35 / 45
    assert pytest.approx(2 * (35 / 40) * (35 / 45) / (35 / 40 + 35 / 45)) == SOME.f1


def test_nothing_predicted_nothing_labelled() -> None:
    never = Confusion(true_negatives=3, false_positives=0, false_negatives=0, true_positives=0)
    assert (never.accuracy, never.precision, never.recall, never.f1) == (1.0, 0.0, 0.0, 0.0)


def test_model_registrys_form() -> None:
    document = json.loads(json.dumps(SOME.evaluation()))
    assert document == {
        "binary_classification_metrics": {
            "accuracy": {"value": 0.85},
            "precision": {"value": 0.875},
            "recall": {"value": 35 / 45},
            "f1": {"value": SOME.f1},
            "confusion_matrix": {"0": {"0": 50, "1": 5}, "1": {"0": 10, "1": 35}},
        },
        "quality": {"metric": "accuracy", "value": 0.85},
        "records": 100,
    }
    for key in ACCURACY_PATH.split("."):
        document = document[key]
    assert document == 0.85


def test_accuracy_is_the_first_key() -> None:
    assert next(iter(SOME.evaluation()["binary_classification_metrics"])) == "accuracy"


def test_summary_is_one_line_with_the_numbers() -> None:
    assert SOME.summary() == (
        "accuracy 0.8500 on 100 test records (precision 0.8750, recall 0.7778, f1 0.8235)"
    )
