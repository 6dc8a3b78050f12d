"""Whatever stands in a definition, the validator answers, and nonsense never passes."""

import copy
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.pipeline.validation import problems
from tests.definition.documents import baseline
from tests.definition.edits import Json, get

Keys = tuple[str | int, ...]

NONSENSE: Json = (
    None,
    True,
    -1,
    1.5,
    "",
    "text",
    [],
    [None],
    [[{}]],
    {},
    {"Name": "Train"},
    {"Get": 3},
    {"Get": "Steps"},
    {"Get": "Steps.Train"},
    {"Get": "Steps.Train.[0]"},
    {"Get": "Parameters"},
    {"Std:Join": []},
    {"Std:Join": {"Values": [{"Std:Join": None}]}},
    {"Std:JsonGet": {}},
    {"Std:JsonGet": {"PropertyFile": {"Get": "Steps.Evaluate.PropertyFiles"}, "Path": 1}},
    get("Steps.QualityGate.Outcome"),
)


def places(value: Json, keys: Keys = ()) -> Iterator[Keys]:
    """The keys to every value inside, the outermost first."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in pairs:
        yield (*keys, key)
        if isinstance(inner, dict | list):
            yield from places(inner, (*keys, key))


def replaced(keys: Keys, value: Json) -> Json:
    """The baseline with another value at the place."""
    definition = baseline()
    holder = definition
    for key in keys[:-1]:
        holder = holder[key]
    holder[keys[-1]] = copy.deepcopy(value)
    return definition


PLACES = tuple(places(baseline()))
FREE = (("Metadata",), ("Steps", 0, "Arguments"))
"""Where any object of primitives is right."""


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.sampled_from(PLACES), st.sampled_from(NONSENSE)), max_size=3))
def test_any_nonsense_is_answered(changes: list[tuple[Keys, Json]]) -> None:
    definition = baseline()
    for keys, value in changes:
        holder = definition
        try:
            for key in keys[:-1]:
                holder = holder[key]
            holder[keys[-1]] = copy.deepcopy(value)
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change took this place away
    for problem in problems(definition):
        assert problem.wrong
        assert problem.fix
        assert problem.rule


@pytest.mark.parametrize("first", range(4))
def test_an_unknown_object_passes_nowhere(first: int) -> None:
    for keys in PLACES[first::4]:
        if keys not in FREE:
            assert problems(replaced(keys, {"Bogus": 1})), keys


def test_definition_that_is_no_definition() -> None:
    assert problems({})
    assert problems({"Steps": {"Train": {}}, "Parameters": {"Epochs": 1}})
