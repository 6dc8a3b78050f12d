"""What Preflight is asked with: refused before anything is listed."""

import dataclasses

import pytest

from tests.unit.shards.data_sets import TEST, VALIDATION, event, list_nothing, lister, shards
from training.contract.hyperparameters import TrainingHyperparameters
from training.shards.preflight import preflight
from training.shards.request import HYPERPARAMETERS, PreflightError


def test_refuses_uris_before_it_lists() -> None:
    with pytest.raises(PreflightError) as refused:
        preflight(event(train_data_uri="s3://b-1/train", test_data_uri="test"), list_nothing)
    assert "TrainDataUri is 's3://b-1/train': it must end with a slash" in str(refused.value)
    assert "TestDataUri is 'test': it must be an S3 folder" in str(refused.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"instance_count": 0}, "InstanceCount is 0. Allowed: a whole number, 1 or more."),
        ({"instance_count": "two"}, "InstanceCount is 'two'."),
        ({"instance_count": None}, "InstanceCount is None."),
        ({"allow_empty_hosts": "maybe"}, "AllowEmptyHosts is 'maybe'. Allowed: true, false."),
        ({"train_data_uri": "s3://b-1/validation/"}, "overlap: the model would be judged on"),
        ({"validation_data_uri": "s3://b-1/train/sub/"}, "overlap"),
        ({"test_data_uri": "s3://b-1/train/"}, "TrainDataUri s3://b-1/train/ and TestDataUri"),
        (
            {"test_data_uri": "s3://b-1/validation/"},
            "ValidationDataUri s3://b-1/validation/ and TestDataUri s3://b-1/validation/ overlap",
        ),
        ({"test_data_uri": "s3://b-1/validation/sub/"}, "overlap"),
        ({"epochs": 0}, "Epochs: Hyperparameter epochs is '0'. Allowed: an integer >= 1"),
        ({"batch_size": 0}, "BatchSize: Hyperparameter batch_size is '0'. Allowed: an integer >="),
        ({"batch_size": 1.5}, "BatchSize: "),
        ({"learning_rate": -1}, "LearningRate: Hyperparameter learning_rate is '-1'. Allowed: a"),
        ({"learning_rate": 0}, "LearningRate: "),
        ({"learning_rate": float("inf")}, "LearningRate: "),
        ({"seed": -1}, "Seed: Hyperparameter seed is '-1'. Allowed: an integer >= 0"),
        ({"seed": None}, "Seed: "),
        ({"quality_threshold": 2}, "QualityThreshold is 2. Allowed: a number >= 0 and <= 1; 0.95"),
        ({"quality_threshold": -0.1}, "QualityThreshold is -0.1."),
        ({"quality_threshold": "high"}, "QualityThreshold is 'high'."),
        ({"quality_threshold": float("nan")}, "QualityThreshold is nan."),
    ],
)
def test_refuses_arguments_before_it_lists(changes: dict[str, object], said: str) -> None:
    with pytest.raises(PreflightError) as refused:
        preflight(event(**changes), list_nothing)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"epochs": 1, "batch_size": 1, "learning_rate": 1e-05, "seed": 0},
        {"epochs": "7", "learning_rate": "1.0E-5", "seed": 2**31},
        {"quality_threshold": 0},
        {"quality_threshold": 1.0},
    ],
)
def test_takes_every_number_that_the_trainer_takes(changes: dict[str, object]) -> None:
    assert preflight(event(**changes), lister(shards(2), VALIDATION, TEST))


def test_checks_hyperparameters_that_the_trainer_knows() -> None:
    known = {field.name for field in dataclasses.fields(TrainingHyperparameters)}
    assert set(HYPERPARAMETERS) <= known


def test_says_every_wrong_argument_at_once() -> None:
    wrong = {"train_data_uri": "train", "epochs": 0, "seed": -1, "quality_threshold": 95}
    with pytest.raises(PreflightError) as refused:
        preflight(event(**wrong), list_nothing)
    for said in ("TrainDataUri is", "Epochs: ", "Seed: ", "QualityThreshold is 95."):
        assert said in str(refused.value)


def test_takes_the_count_as_text() -> None:
    objects = lister(shards(3), VALIDATION, TEST)
    assert preflight(event(instance_count="3"), objects)["hosts_without_data"] == 0
