r"""Strings in, typed and checked dataclasses out.

Values come as plain text (`5`, `adam`, `True`) or JSON-encoded (`"5"`, `"\"adam\""`, `true`):
the API passes what it was given, the SageMaker SDK encodes each value. Both forms are read.
"""

import dataclasses
import difflib
import json
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import (
    Annotated,
    Any,
    ClassVar,
    Final,
    Literal,
    Protocol,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from training.contract.bounds import Form, Range
from training.contract.errors import ContractError
from training.contract.json_files import read_object


class HyperparameterError(ContractError):
    """A hyperparameter is unknown, ill-typed or out of range."""


class _Dataclass(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Any]]


_Parsed = TypeVar("_Parsed", bound=_Dataclass)


def read_hyperparameters(path: Path) -> dict[str, str]:
    """Read hyperparameters.json: names and values, the values without their JSON encoding.

    A missing file means no hyperparameters.

    Raises:
        ContractError: the file is not a JSON object, or a value in it is not a string.
    """
    if not path.exists():
        return {}
    values = read_object(path)
    for name, value in values.items():
        if not isinstance(value, str):
            raise ContractError(
                f"{path}: {name} is {json.dumps(value)}. SageMaker passes strings: write "
                f"{json.dumps(json.dumps(value))}."
            )
    return {name: decode(value) for name, value in values.items()}


def decode(value: str) -> str:
    r"""Take the JSON encoding of a string away; other text stays as it is.

    `"\"adam\""` gives `adam`; `adam`, `5` and `true` give themselves.
    """
    try:
        decoded = json.loads(value)
    except ValueError:
        return value
    return decoded if isinstance(decoded, str) else value


def parse(hyperparameters_type: type[_Parsed], values: Mapping[str, str]) -> _Parsed:
    """Turn decoded strings into a dataclass whose fields say what is allowed.

    Args:
        hyperparameters_type: a dataclass of int, float, bool, str and Literal fields, numbers
            with a Range if they are bounded. Names that are not given take their default.
        values: as `read_hyperparameters` returns them.

    Raises:
        HyperparameterError: a name is unknown, or a value is ill-typed or out of range.
    """
    hints = get_type_hints(hyperparameters_type, include_extras=True)
    names = [field.name for field in dataclasses.fields(hyperparameters_type)]
    for name in values:
        if name not in names:
            raise HyperparameterError(_unknown(name, names))
    return hyperparameters_type(
        **{name: _convert(name, value, hints[name]) for name, value in values.items()}
    )


def _bounds(hint: Any) -> Range | Form | None:  # noqa: ANN401 (a type hint has no narrower type)
    return next((extra for extra in get_args(hint) if isinstance(extra, Range | Form)), None)


def _unknown(name: str, names: list[str]) -> str:
    close = difflib.get_close_matches(name, names, n=1)
    advice = f"Did you mean {close[0]}?" if close else "Remove it or rename it."
    return f"There is no hyperparameter {name!r}. Allowed: {', '.join(names)}. {advice}"


def _convert(name: str, text: str, hint: Any) -> int | float | bool | str:  # noqa: ANN401 (the same)
    bounds = _bounds(hint)
    kind = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    value = _literal(text, kind) if get_origin(kind) is Literal else _READERS[kind](text)
    outside = bounds is not None and value is not None and not bounds.holds(value)
    if value is None or outside:
        allowed = _allowed(kind, bounds)
        raise HyperparameterError(
            f"Hyperparameter {name} is {text!r}. Allowed: {allowed}. Change it or leave it out."
        )
    return value


def _allowed(kind: Any, bounds: Range | Form | None) -> str:  # noqa: ANN401 (the same)
    if isinstance(bounds, Form):
        return str(bounds)
    if get_origin(kind) is Literal:
        return " or ".join(get_args(kind))
    return _KIND_NAMES[kind] + (f" {bounds}" if bounds is not None else "")


def _literal(text: str, kind: Any) -> str | None:  # noqa: ANN401 (the same)
    return text if text in get_args(kind) else None


def _integer(text: str) -> int | None:
    # Not int(): it takes 1_000 and blanks too.
    return int(text) if re.fullmatch(r"[-+]?[0-9]{1,30}", text) else None


def _number(text: str) -> float | None:
    if not re.fullmatch(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?", text):
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def _boolean(text: str) -> bool | None:
    return {"true": True, "false": False}.get(text.lower())


_READERS: Final[dict[type, Callable[[str], int | float | bool | str | None]]] = {
    int: _integer,
    float: _number,
    bool: _boolean,
    str: str,
}
_KIND_NAMES: Final = {
    int: "an integer",
    float: "a number",
    bool: "true or false",
    str: "any text",
}
