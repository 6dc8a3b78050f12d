"""How values, options and suggestions are written in a problem."""

from collections.abc import Collection
from difflib import get_close_matches
from typing import Final

VALUE_CHARACTERS: Final = 80
"""A longer value is cut: the path says where to find it."""
OPTIONS_SHOWN: Final = 12

JSON_NAMES: Final[dict[type, str]] = {
    str: "a string",
    bool: "a boolean",
    int: "an integer",
    float: "a float",
    list: "a list",
    dict: "an object",
    type(None): "null",
}


def shown(value: object) -> str:
    """A value as it appears in a message, cut to a readable length."""
    text = repr(value)
    if len(text) <= VALUE_CHARACTERS:
        return text
    return f"{text[:VALUE_CHARACTERS]}… ({len(text)} characters)"


def type_of(value: object) -> str:
    """The JSON type of a value, with its article."""
    return JSON_NAMES.get(type(value), type(value).__name__)


def listing(options: Collection[str]) -> str:
    """Options in a sentence, the first dozen of them."""
    if not options:
        return "none"
    names = list(options)
    text = ", ".join(names[:OPTIONS_SHOWN])
    return text if len(names) <= OPTIONS_SHOWN else f"{text}, … ({len(names)} in all)"


def allowed(options: Collection[str]) -> str:
    """`allowed: a, b, c`."""
    return f"allowed: {listing(options)}"


def closest(given: str, options: Collection[str]) -> str | None:
    """The option that `given` was probably meant to be."""
    found = get_close_matches(given, list(options), n=1)
    return found[0] if found else None


def rename_fix(given: str, options: Collection[str], otherwise: str) -> str:
    """`Did you mean X?`-style advice where an option is close, else the given advice."""
    near = closest(given, options)
    return otherwise if near is None else f"Write {near!r} if that is what you meant"
