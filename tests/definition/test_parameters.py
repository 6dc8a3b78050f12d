"""Parameters: names, types, defaults, choices, and what their readers want."""

import pytest

from infra.pipeline.validation import problems
from infra.pipeline.validation.parameters import holds
from tests.definition.documents import baseline
from tests.definition.edits import Json, at, put
from tests.definition.judged import found_in


def with_parameter(**fields: Json) -> list[tuple[str, str]]:
    """Path and rule of every problem once a parameter `Extra` is declared as well."""
    definition = baseline()
    definition["Parameters"].append({"Name": "Extra", "Type": "String"} | fields)
    return found_in(definition)


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("String", "", True),
        ("String", 1, False),
        ("Integer", 1, True),
        ("Integer", True, False),
        ("Integer", 1.0, False),
        ("Float", 1, True),
        ("Float", 0.5, True),
        ("Float", True, False),
        ("Float", "0.5", False),
        ("Boolean", False, True),
        ("Boolean", 0, False),
        ("Text", "x", False),
    ],
)
def test_defaults_have_their_parameters_type(kind: str, value: Json, expected: bool) -> None:  # noqa: FBT001 a column of the table
    assert holds(kind, value) is expected


@pytest.mark.parametrize(
    ("fields", "path", "rule"),
    [
        ({"Type": "Int"}, "Extra.Type", "parameter-type"),
        ({"Type": 3}, "Extra.Type", "wrong-type"),
        ({"Type": "Integer", "DefaultValue": True}, "Extra.DefaultValue", "parameter-default-type"),
        ({"DefaultValue": None}, "Extra.DefaultValue", "parameter-default-type"),
        ({"DefaultValue": "x" * 1025}, "Extra.DefaultValue", "parameter-value-length"),
        ({"Default": "x"}, "Extra.Default", "unknown-key"),
        ({"Type": "Integer", "EnumValues": [1]}, "Extra.EnumValues", "enum-values-need-string"),
        ({"EnumValues": []}, "Extra.EnumValues", "wrong-type"),
        ({"EnumValues": ["a", 1]}, "Extra.EnumValues[1]", "wrong-type"),
        (
            {"EnumValues": ["true", "false"], "DefaultValue": "ture"},
            "Extra.DefaultValue",
            "default-not-a-choice",
        ),
        ({"Name": "learning_rate"}, "learning_rate.Name", "parameter-name"),
    ],
)
def test_parameters_are_judged(fields: Json, path: str, rule: str) -> None:
    assert with_parameter(**fields) == [(f"Parameters.{path}", rule)]


def test_empty_default_is_allowed() -> None:
    assert with_parameter(DefaultValue="") == []
    definition = baseline()
    put(definition, "Parameters.TrainDataUri.DefaultValue", "")
    assert problems(definition) == []


def test_duplicate_parameter_is_refused() -> None:
    assert with_parameter(Name="Epochs", Type="Integer") == [
        ("Parameters[11].Name", "duplicate-parameter")
    ]


def test_more_than_200_parameters_are_refused() -> None:
    definition = baseline()
    declared = len(definition["Parameters"])
    more = [{"Name": f"P{n}", "Type": "String"} for n in range(201 - declared)]
    definition["Parameters"] += more[:-1]
    assert problems(definition) == []
    definition["Parameters"].append(more[-1])
    assert [problem.rule for problem in problems(definition)] == ["too-many-parameters"]


def test_default_is_judged_by_the_field_that_reads_it() -> None:
    definition = baseline()
    # p4d exists for training jobs, not for processing jobs.
    put(definition, "Parameters.EvaluationInstanceType.DefaultValue", "ml.p4d.24xlarge")
    (problem,) = problems(definition)
    assert problem.path == "Parameters.EvaluationInstanceType.DefaultValue"
    assert problem.rule == "enum"
    assert "Steps.Evaluate.Arguments.ProcessingResources.ClusterConfig" in problem.wrong


def test_choices_are_judged_by_the_field_that_reads_them() -> None:
    definition = baseline()
    at(definition, "Parameters.InstanceType.EnumValues").append("ml.g5.13xlarge")
    (problem,) = problems(definition)
    assert problem.path == "Parameters.InstanceType.EnumValues[2]"
    assert problem.fix.startswith("Write 'ml.g5.1")
