from typing import Any

import pytest

from evenshard.errors import UsageError
from evenshard.simulator.errors import DefinitionError
from evenshard.simulator.pipeline.parameters import declarations, merge_given, settle

DECLARED = declarations(
    [
        {"Name": "InstanceCount", "Type": "Integer", "DefaultValue": 2},
        {"Name": "LearningRate", "Type": "Float", "DefaultValue": 1},
        {"Name": "Strict", "Type": "Boolean", "DefaultValue": False},
        {"Name": "Kind", "Type": "String", "DefaultValue": "a", "EnumValues": ["a", "b"]},
        {"Name": "Uri", "Type": "String", "DefaultValue": ""},
    ]
)


def test_defaults_stand_where_nothing_is_given() -> None:
    values = {"InstanceCount": 2, "LearningRate": 1, "Strict": False, "Kind": "a", "Uri": ""}
    assert settle(DECLARED, {}) == values


def test_given_text_is_read_by_the_declared_type() -> None:
    given = {"InstanceCount": "3", "LearningRate": "1e-3", "Strict": "True", "Uri": "3"}
    values = settle(DECLARED, given)
    assert values["InstanceCount"] == 3
    assert values["LearningRate"] == 0.001
    assert values["Strict"] is True
    assert values["Uri"] == "3"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"InstanceCount": "two"}, "InstanceCount=two is not of type Integer. Give a whole number"),
        ({"InstanceCount": "2.5"}, "InstanceCount=2.5 is not of type Integer"),
        ({"LearningRate": "nan"}, "LearningRate=nan is not of type Float"),
        ({"Strict": "yes"}, "Strict=yes is not of type Boolean. Give true or false."),
        ({"Kind": "c"}, "Kind=c is not allowed. Choose one of a, b."),
        ({"Uri": "x" * 1025}, "Uri has 1025 characters"),
        ({"InstanceCnt": "2"}, "no parameter InstanceCnt. .* Did you mean InstanceCount?"),
        ({"Zzz": "2"}, "no parameter Zzz. Its parameters are InstanceCount, .* Choose one"),
    ],
)
def test_refuses_wrong_values_and_names(given: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        settle(DECLARED, given)


def test_a_parameter_without_default_must_be_given() -> None:
    declared = declarations([{"Name": "Uri", "Type": "String"}])
    with pytest.raises(UsageError, match=r"Uri has no default\. Give it: --param Uri=VALUE"):
        settle(declared, {})
    assert settle(declared, {"Uri": "x"}) == {"Uri": "x"}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"Type": "Integer", "DefaultValue": "2"}, "'2' of N is not Integer"),
        ({"Type": "Integer", "DefaultValue": True}, "True of N is not Integer"),
        ({"Type": "String", "DefaultValue": "c", "EnumValues": ["a"]}, "not in its EnumValues"),
        ({"Type": "Integer", "EnumValues": ["1"]}, "EnumValues are for String only"),
    ],
)
def test_refuses_a_wrong_declaration(entry: dict[str, Any], message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        declarations([{"Name": "N", **entry}])


def test_two_options_may_agree_but_not_differ() -> None:
    assert merge_given({"InstanceCount": "3"}, {"InstanceCount": "3", "Epochs": "1"}) == {
        "InstanceCount": "3",
        "Epochs": "1",
    }
    with pytest.raises(UsageError, match="InstanceCount is given as 3 and as 2"):
        merge_given({"InstanceCount": "3"}, {"InstanceCount": "2"})
