"""Pipeline parameters: what the definition declares and what the command line gives."""

import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from evenshard.errors import UsageError
from evenshard.simulator.errors import DefinitionError

_LONGEST_VALUE: Final = 1024


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


_PARSERS: Final[Mapping[str, tuple[Callable[[str], Any], str]]] = {
    "String": (str, "any text"),
    "Integer": (int, "a whole number such as 3"),
    "Float": (_float, "a number such as 0.001"),
    "Boolean": (_boolean, "true or false"),
}
_PYTHON_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "String": (str,),
    "Integer": (int,),
    "Float": (int, float),
    "Boolean": (bool,),
}


class ParameterError(Exception):
    """A parameter's value is refused; the text begins with the parameter's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """One entry of the definition's Parameters."""

    name: str
    type: str
    default: Any
    """None: it must be given."""
    allowed: tuple[str, ...]
    """EnumValues; empty: any value."""

    def parse(self, text: str) -> object:
        """Read a value from the command line.

        Raises:
            UsageError: it has the wrong type, or is not one of the allowed values.
        """
        try:
            return self.read(text)
        except ParameterError as error:
            raise UsageError(f"--param {error}") from error

    def read(self, text: str) -> object:
        """Read a value, wherever it comes from.

        Raises:
            ParameterError: it has the wrong type, or is not one of the allowed values.
        """
        parser, expected = _PARSERS[self.type]
        if len(text) > _LONGEST_VALUE:
            raise ParameterError(
                f"{self.name} has {len(text)} characters. SageMaker allows {_LONGEST_VALUE}: "
                "shorten it."
            )
        try:
            value = parser(text)
        except ValueError as error:
            raise ParameterError(
                f"{self.name}={text} is not of type {self.type}. Give {expected}."
            ) from error
        if self.allowed and value not in self.allowed:
            choices = ", ".join(self.allowed)
            raise ParameterError(f"{self.name}={text} is not allowed. Choose one of {choices}.")
        return value


def declarations(entries: Sequence[Mapping[str, Any]]) -> tuple[Declaration, ...]:
    """Read the definition's Parameters (their shape is checked already).

    Raises:
        DefinitionError: a default of the wrong type, or enum values on a type without them.
    """
    found = []
    for index, entry in enumerate(entries):
        declaration = Declaration(
            name=entry["Name"],
            type=entry["Type"],
            default=entry.get("DefaultValue"),
            allowed=tuple(entry.get("EnumValues", ())),
        )
        _check_default(declaration, f"Parameters[{index}]")
        found.append(declaration)
    return tuple(found)


def _check_default(declaration: Declaration, path: str) -> None:
    if declaration.allowed and declaration.type != "String":
        raise DefinitionError(
            f"{path}.EnumValues",
            f"{declaration.name} is of type {declaration.type}; EnumValues are for String only.",
        )
    default = declaration.default
    if default is None:
        return
    wrong_boolean = isinstance(default, bool) and declaration.type != "Boolean"
    if wrong_boolean or not isinstance(default, _PYTHON_TYPES[declaration.type]):
        raise DefinitionError(
            f"{path}.DefaultValue", f"{default!r} of {declaration.name} is not {declaration.type}."
        )
    if declaration.allowed and default not in declaration.allowed:
        raise DefinitionError(
            f"{path}.DefaultValue", f"{default!r} of {declaration.name} is not in its EnumValues."
        )


def settle(declared: Sequence[Declaration], given: Mapping[str, str]) -> dict[str, Any]:
    """Every parameter's value: the given one, else the default.

    Raises:
        UsageError: an unknown name, a wrong value, or a parameter with neither value nor default.
    """
    by_name = {declaration.name: declaration for declaration in declared}
    for name in given:
        if name not in by_name:
            raise UsageError(unknown_parameter(name, list(by_name)))
    values: dict[str, Any] = {}
    for name, declaration in by_name.items():
        value = declaration.parse(given[name]) if name in given else declaration.default
        if value is None:
            raise UsageError(f"parameter {name} has no default. Give it: --param {name}=VALUE.")
        values[name] = value
    return values


def unknown_parameter(name: str, known: Sequence[str]) -> str:
    """What to say of a parameter that the pipeline does not declare."""
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    advice = f"Did you mean {close[0]}?" if close else "Choose one of them."
    listing = ", ".join(known)
    return f"the pipeline has no parameter {name}. Its parameters are {listing}. {advice}"


def merge_given(*sources: Mapping[str, str]) -> dict[str, str]:
    """Put together values that several options give.

    Args:
        sources: parameter name -> text, one mapping per option.

    Raises:
        UsageError: two options give one parameter different values.
    """
    merged: dict[str, str] = {}
    for source in sources:
        for name, text in source.items():
            if merged.setdefault(name, text) != text:
                raise UsageError(
                    f"{name} is given as {merged[name]} and as {text}: --hosts is InstanceCount. "
                    "Give the number once."
                )
    return merged
