import pytest

from training.contract.hyperparameters import TrainingHyperparameters, parse_training
from training.contract.parsing import HyperparameterError


@pytest.mark.parametrize("text", ["1e-3", "0.001", ".001", "+1.e-3"])
def test_numbers(text: str) -> None:
    assert parse_training({"learning_rate": text}).learning_rate == 0.001


def test_defaults() -> None:
    assert parse_training({}) == TrainingHyperparameters()


def test_every_field_is_parsed_to_its_type() -> None:
    parsed = parse_training({"epochs": "7", "seed": "1", "dtype": "float64", "ngrams": "1"})
    assert (parsed.epochs, parsed.seed, parsed.dtype, parsed.ngrams) == (7, 1, "float64", 1)


def test_the_program_is_the_launchers() -> None:
    assert parse_training({"program": "x.py", "epochs": "2"}).epochs == 2


def test_unknown_name_suggests_the_close_one() -> None:
    with pytest.raises(HyperparameterError) as caught:
        parse_training({"epoch": "3"})
    assert str(caught.value).startswith("There is no hyperparameter 'epoch'. Allowed: epochs, ")
    assert str(caught.value).endswith("Did you mean epochs?")


def test_unknown_name_far_from_all_others() -> None:
    with pytest.raises(HyperparameterError, match="Remove it or rename it"):
        parse_training({"warp_drive": "3"})


@pytest.mark.parametrize(
    ("name", "text", "allowed"),
    [
        ("epochs", "three", "an integer >= 1"),
        ("epochs", "3.0", "an integer >= 1"),
        ("epochs", "0", "an integer >= 1"),
        ("epochs", "1_000", "an integer >= 1"),
        ("epochs", "", "an integer >= 1"),
        ("batch_size", "-4", "an integer >= 1"),
        ("learning_rate", "0", "a number > 0"),
        ("learning_rate", "nan", "a number > 0"),
        ("learning_rate", "inf", "a number > 0"),
        ("learning_rate", "1e999", "a number > 0"),
        ("learning_rate", "0,01", "a number > 0"),
        ("seed", "-1", "an integer >= 0 and <= "),
        ("seed", str(2**63), "an integer >= 0 and <= "),
        ("dtype", "float16", "float32 or float64"),
        ("ngrams", "9", "an integer >= 1 and <= 5"),
    ],
)
def test_ill_typed_values_say_what_is_allowed(name: str, text: str, allowed: str) -> None:
    with pytest.raises(HyperparameterError) as caught:
        parse_training({name: text})
    assert f"Hyperparameter {name} is {text!r}. Allowed: {allowed}" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "largest"), [("seed", 2**63 - 1), ("epochs", 2**31 - 1), ("batch_size", 2**31 - 1)]
)
def test_the_largest_integers_are_taken_and_named_whole(name: str, largest: int) -> None:
    assert getattr(parse_training({name: str(largest)}), name) == largest
    with pytest.raises(HyperparameterError, match=f"<= {largest}\\."):
        parse_training({name: str(largest + 1)})
