import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from training.contract.errors import ContractError
from training.contract.parsing import HyperparameterError, decode, parse, read_hyperparameters


@dataclass(frozen=True, kw_only=True)
class Everything:
    flag: bool = False
    text: str = ""
    count: int = 0
    ratio: float = 0.0


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("adam", "adam"),
        ('"adam"', "adam"),
        ("5", "5"),
        ('"5"', "5"),
        ("true", "true"),
        ('"True"', "True"),
        ('{"a": 1}', '{"a": 1}'),
        ("", ""),
        ('"unfinished', '"unfinished'),
    ],
)
def test_decode(value: str, text: str) -> None:
    assert decode(value) == text


@pytest.mark.parametrize("encode", [str, json.dumps, lambda value: json.dumps(str(value))])
def test_plain_and_encoded_values_mean_the_same(
    tmp_path: Path, encode: Callable[[object], str]
) -> None:
    file = tmp_path / "hyperparameters.json"
    given = {"flag": True, "text": "adam", "count": 5, "ratio": 0.005}
    file.write_text(json.dumps({name: encode(value) for name, value in given.items()}))
    assert parse(Everything, read_hyperparameters(file)) == Everything(
        flag=True, text="adam", count=5, ratio=0.005
    )


@pytest.mark.parametrize("text", ["true", "True", "TRUE"])
def test_true(text: str) -> None:
    assert parse(Everything, {"flag": text}).flag is True


def test_ill_typed_boolean() -> None:
    with pytest.raises(HyperparameterError, match="Allowed: true or false"):
        parse(Everything, {"flag": "yes"})


def test_missing_file_means_no_hyperparameters(tmp_path: Path) -> None:
    assert read_hyperparameters(tmp_path / "hyperparameters.json") == {}


def test_values_that_are_not_strings_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "hyperparameters.json"
    file.write_text('{"epochs": 3}')
    with pytest.raises(ContractError, match=r'epochs is 3\. SageMaker passes strings: write "3"'):
        read_hyperparameters(file)
