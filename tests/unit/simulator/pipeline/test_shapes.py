import pytest

from evenshard.simulator.errors import DefinitionError
from evenshard.simulator.pipeline.shapes import (
    Count,
    ListOf,
    MapOf,
    NoEffect,
    OneOf,
    Primitive,
    Shape,
    Structure,
    Uri,
    check,
)

SHAPE = Structure(
    {
        "Name": str,
        "Size": Count(1),
        "Ratio": float,
        "Hosts": Count(1, 64),
        "Mode": OneOf(("File",)),
        "Uri": Uri(),
        "Flags": MapOf(Primitive()),
        "Items": ListOf(Structure({"Id": str}, required=("Id",)), unique="Id"),
        "Anything": NoEffect("for this test"),
    },
    required=("Name",),
)


def test_accepts_every_declared_field() -> None:
    value = {
        "Name": "n",
        "Size": 1,
        "Ratio": 2,
        "Hosts": 64,
        "Mode": "File",
        "Uri": "s3://b/k",
        "Flags": {"a": 1, "b": True},
        "Items": [{"Id": "a"}, {"Id": "b"}],
        "Anything": [{"deep": None}],
    }
    check(value, SHAPE, "X")


def test_an_expression_passes_for_a_leaf_and_for_a_whole_object() -> None:
    check({"Name": {"Get": "Parameters.N"}, "Flags": {"Get": "Parameters.F"}}, SHAPE, "X")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"Name": "n", "Extra": 1}, "X.Extra: the simulator does not support this field"),
        ({"Size": 1}, "X: Name is missing"),
        ({"Name": 3}, "X.Name: 3 is not a string. Wrap it in Std:Join"),
        ({"Name": "n", "Size": True}, "X.Size: True is not an integer"),
        ({"Name": "n", "Size": 0}, "X.Size: 0 is below 1"),
        ({"Name": "n", "Hosts": 65}, "X.Hosts: 65 is above 64, the most that is simulated"),
        ({"Name": "n", "Ratio": "1"}, "X.Ratio: '1' is not a number"),
        ({"Name": "n", "Mode": "Pipe"}, "X.Mode: 'Pipe' is not simulated. Use File."),
        ({"Name": "n", "Uri": "http://b/k"}, "X.Uri: 'http://b/k' is no S3 URI"),
        ({"Name": "n", "Uri": "s3:///k"}, "X.Uri: 's3:///k' is no S3 URI"),
        ({"Name": "n", "Flags": {"a": []}}, "X.Flags.a: [] must be a string"),
        ({"Name": "n", "Items": {}}, "X.Items: {} is not a list"),
        ({"Name": "n", "Items": [1]}, "X.Items[0]: 1 is not an object"),
        ({"Name": "n", "Items": [{"Id": "a"}, {"Id": "a"}]}, "X.Items[1].Id: 'a' is there twice"),
    ],
)
def test_refuses_naming_the_place(value: object, message: str) -> None:
    with pytest.raises(DefinitionError) as error:
        check(value, SHAPE, "X")
    assert str(error.value).startswith(message)


def test_a_long_value_is_cut_in_the_message() -> None:
    shape: Shape = Structure({})
    with pytest.raises(DefinitionError) as error:
        check("x" * 500, shape, "X")
    assert len(str(error.value)) < 200
