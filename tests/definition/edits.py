"""Pieces of definitions, and changes of one place in them."""

import re
from typing import Any

Json = Any
"""JSON data that the tests edit freely."""

_PART = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


def as_text(*values: Json) -> Json:
    """A Std:Join of these values."""
    return {"Std:Join": {"On": "", "Values": list(values)}}


def get(text: str) -> Json:
    """A Get."""
    return {"Get": text}


def at(definition: Json, path: str) -> Json:
    """The value at a path such as `Steps.Train.Arguments.InputDataConfig[0]`.

    Steps and parameters are found by name, everything else by key or position.
    """
    value = definition
    for name, position in _PART.findall(path):
        if position:
            value = value[int(position)]
        elif isinstance(value, list):
            value = next(item for item in value if item["Name"] == name)
        else:
            value = value[name]
    return value


def put(definition: Json, path: str, value: Json) -> None:
    """Set the key that the path ends in."""
    parent, key = path.rsplit(".", 1)
    at(definition, parent)[key] = value


def drop(definition: Json, path: str) -> None:
    """Remove the key that the path ends in."""
    parent, key = path.rsplit(".", 1)
    del at(definition, parent)[key]
