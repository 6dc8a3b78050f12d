"""Formats made by name, with their settings."""

from collections.abc import Callable, Mapping
from importlib import import_module

from training.records.formats import json_lines, lines
from training.records.formats.protocol import FormatSettings, ShardFormat

_MAKERS: Mapping[str, Callable[[str, FormatSettings], ShardFormat]] = {
    "lines": lines.make,
    "json_lines": json_lines.make,
}

_MODULES: Mapping[str, str] = {
    "csv": "training.records.formats.csv",
    "parquet": "training.records.formats.parquet",
    "tar": "training.records.formats.tar",
    "compressed_lines": "training.records.formats.compressed",
    "compressed_json_lines": "training.records.formats.compressed",
}
"""Where each other format is made: a module with `make(name, settings)`. They are imported when
needed: a job reads one format, and some of them bring libraries along."""


def make_format(name: str, settings: FormatSettings) -> ShardFormat:
    """Make a format by its name.

    Raises:
        ValueError: There is no such format.
    """
    if name in _MAKERS:
        return _MAKERS[name](name, settings)
    if name not in _MODULES:
        raise ValueError(f"format {name!r}: there are {', '.join([*_MAKERS, *_MODULES])}.")
    made: ShardFormat = import_module(_MODULES[name]).make(name, settings)
    return made
