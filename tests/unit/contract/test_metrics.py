import re

import pytest

from training.contract.metrics import (
    LEARNING_RATE,
    METRICS,
    RECORDS_PER_SECOND,
    STEP_LOSS,
    STEP_RECORDS_PER_SECOND,
    TRAIN_LOSS,
    VALIDATION_ACCURACY,
    VALIDATION_LOSS,
    VALIDATION_R2,
    Metric,
    format_line,
    metric_definitions,
)

VALUES = {
    TRAIN_LOSS: 0.208434,
    VALIDATION_LOSS: 12.5,
    VALIDATION_ACCURACY: 1.0,
    RECORDS_PER_SECOND: 1234567.89,
}


def scrape(line: str) -> dict[str, float]:
    found = {}
    for definition in metric_definitions():
        match = re.search(definition["Regex"], line)
        if match is not None:
            found[definition["Name"]] = float(match[1])
    return found


def test_line() -> None:
    assert format_line(3, VALUES) == (
        "epoch=3; train_loss=0.20843; validation_loss=12.50000; validation_accuracy=1.00000; "
        "records_per_second=1234567.9"
    )


@pytest.mark.parametrize("prefix", ["", "2026-01-01T00:00:00Z algo-1 "])
def test_each_regex_finds_its_own_number(prefix: str) -> None:
    assert scrape(prefix + format_line(3, VALUES)) == {
        "train:loss": 0.20843,
        "validation:loss": 12.5,
        "validation:accuracy": 1.0,
        "train:records_per_second": 1234567.9,
    }


def test_small_numbers_survive() -> None:
    assert scrape("epoch=1; train_loss=1.5e-07; x=1")["train:loss"] == 1.5e-07


@pytest.mark.parametrize("line", ["train_loss=0.2", "epoch=1; my_train_loss=3", "epoch=1; loss=3"])
def test_other_lines_are_no_metrics(line: str) -> None:
    assert scrape(line) == {}


def test_what_is_not_a_number_is_not_scraped() -> None:
    assert "train:loss" not in scrape(format_line(1, {**VALUES, TRAIN_LOSS: float("nan")}))


def test_limits_of_sagemaker() -> None:
    definitions = metric_definitions()
    assert len({definition["Name"] for definition in definitions}) == len(METRICS) <= 40
    assert all(len(definition["Regex"]) <= 500 for definition in definitions)
    assert all(re.compile(definition["Regex"]).groups == 1 for definition in definitions)


def test_a_regression_has_another_measure() -> None:
    line = format_line(2, {TRAIN_LOSS: 1.0, VALIDATION_R2: -0.25})
    assert line == "epoch=2; train_loss=1.00000; validation_r2=-0.25000"
    assert scrape(line) == {"train:loss": 1.0, "validation:r2": -0.25}


def test_lines_between_epochs_are_told_from_those_of_epochs() -> None:
    values = {STEP_LOSS: 0.25, STEP_RECORDS_PER_SECOND: 99.5, LEARNING_RATE: 0.0005}
    line = format_line(2, values, step=700)
    assert line == (
        "epoch=2; step=700; step_loss=0.25000; step_records_per_second=99.5; "
        "learning_rate=0.00050000"
    )
    assert scrape(line) == {
        "train:step_loss": 0.25,
        "train:step_records_per_second": 99.5,
        "train:learning_rate": 0.0005,
    }


def test_a_metric_that_no_regex_finds_is_an_error() -> None:
    with pytest.raises(KeyError, match="train_wisdom"):
        format_line(1, {Metric("train:wisdom", "train_wisdom", 1): 1.0})


def test_metrics_are_values() -> None:
    assert Metric("train:loss", "train_loss", 5) == TRAIN_LOSS
