"""Types of values: the service model's names, and those of definitions."""

from collections.abc import Mapping
from typing import Final

KINDS: Final[Mapping[str, str]] = {
    "String": "string",
    "Integer": "integer",
    "Float": "float",
    "Boolean": "boolean",
}
"""Types of parameters and of output parameters, and what the service model calls them."""

SCALARS: Final = (*KINDS.values(), "timestamp")
NUMBERS: Final = ("integer", "float")

_SAME: Final[Mapping[str, str]] = {"long": "integer", "double": "float"}


def plain(kind: str) -> str:
    """The type without its width: a long is an integer, a double is a float."""
    return _SAME.get(kind, kind)


def fits(given: str | None, wanted: str) -> bool:
    """Whether a field takes a value of this type; None, an unknown type, fits everywhere."""
    if given is None:
        return True
    given, wanted = plain(given), plain(wanted)
    return given == wanted or (given, wanted) == ("integer", "float")
