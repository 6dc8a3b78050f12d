"""An environment's effective settings: each value, where it comes from, what it means.

    python -m infra.explanation prod

prints one JSON document. Exit code 1: the file is refused; 2: there is no such environment.
"""

import json
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from infra.settings import (
    CONFIG_DIR,
    DEFAULT_ENVIRONMENT,
    SettingsError,
    UnknownEnvironmentError,
    load_settings,
)

_NAME: Final = r"""(?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+)"""
_NAMES: Final = rf"{_NAME}(?:[ \t]*\.[ \t]*{_NAME})*"
_TABLE: Final = re.compile(rf"^[ \t]*\[[ \t]*({_NAMES})[ \t]*\]")
_KEY: Final = re.compile(rf"^[ \t]*({_NAMES})[ \t]*=")


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """One effective value."""

    key: str
    """Dotted, tables first: `training.epochs`."""
    value: Any
    """As JSON has it; null: not set."""
    line: int | None
    """Of the settings file; None: the file leaves the key out, the value is the default."""
    meaning: str
    """Unit and limits included; empty for the names that a user adds."""


def explain(environment: str, config_dir: Path = CONFIG_DIR) -> list[Explained]:
    """Every effective value of an environment, in the order of infra/settings.py.

    Raises:
        SettingsError: as `load_settings` does.
    """
    settings = load_settings(environment, config_dir)
    text = (config_dir / f"{environment}.toml").read_text(encoding="utf-8-sig")
    lines = lines_of_keys(text)
    return [
        Explained(key=key, value=value, line=lines.get(key), meaning=meaning)
        for key, value, meaning in _values(settings, "")
    ]


def lines_of_keys(text: str) -> dict[str, int]:
    """Dotted key -> line, counted from 1, of every value in a TOML text.

    What an inline table holds is on the line of the table's key.
    """
    written = _written_keys(text)
    found = {}
    for key in _leaves(tomllib.loads(text), ()):
        starts = (key[:length] for length in range(len(key), 0, -1))
        line = next((written[start] for start in starts if start in written), None)
        if line is not None:
            found[".".join(key)] = line
    return found


def _written_keys(text: str) -> dict[tuple[str, ...], int]:
    """Tables first -> line, of what stands before an equals sign."""
    found: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _TABLE.match(line):
            table = _names(header[1])
        elif key := _KEY.match(line):
            # A line of a longer text may look like one: the first one is the key.
            found.setdefault((*table, *_names(key[1])), number)
    return found


def _names(dotted: str) -> tuple[str, ...]:
    """`a."b c"` -> a, b c; quotes are TOML's own."""
    [only] = _leaves(tomllib.loads(f"{dotted} = 0"), ())
    return only


def _leaves(value: object, names: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    match value:
        case dict() if value:
            for name, inner in value.items():
                yield from _leaves(inner, (*names, name))
        case _:
            yield names


def _values(section: BaseModel, table: str) -> Iterator[tuple[str, Any, str]]:
    for name, field in type(section).model_fields.items():
        value, key = getattr(section, name), f"{table}{name}"
        meaning = " ".join((field.description or "").split())
        match value:
            case BaseModel():
                yield from _values(value, f"{key}.")
            case Mapping() if value:
                yield from ((f"{key}.{inner}", value[inner], "") for inner in value)
            case _:
                yield key, value, meaning


def main(arguments: Sequence[str]) -> int:
    """Print the document for the named environment.

    Returns:
        The exit code.
    """
    environment = arguments[0] if arguments else DEFAULT_ENVIRONMENT
    try:
        found = explain(environment)
    except SettingsError as error:
        sys.stderr.write(f"{error}\n")
        return 2 if isinstance(error, UnknownEnvironmentError) else 1
    document = {
        "environment": environment,
        "file": str(CONFIG_DIR / f"{environment}.toml"),
        "settings": [asdict(one) for one in found],
    }
    sys.stdout.write(json.dumps(document) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
