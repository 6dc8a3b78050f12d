"""Formats made by name, with their settings."""

from collections.abc import Mapping
from importlib import import_module

from training.records.formats.protocol import FormatSettings, ShardFormat

_MAKERS: Mapping[str, str] = {
    "lines": "training.records.formats.lines",
    "json_lines": "training.records.formats.json_lines",
    "csv": "training.records.formats.csv",
    "parquet": "training.records.formats.parquet",
    "tar": "training.records.formats.tar",
    "compressed_lines": "training.records.formats.compressed",
    "compressed_json_lines": "training.records.formats.compressed",
}
"""Where each format is made: a module with `make(name, settings)`. They are imported when needed:
a job reads one format, and some of them bring libraries along."""


def make_format(name: str, settings: FormatSettings) -> ShardFormat:
    """Make a format by its name.

    Raises:
        ValueError: There is no such format.
    """
    if name not in _MAKERS:
        raise ValueError(f"format {name!r}: there are {', '.join(_MAKERS)}.")
    made: ShardFormat = import_module(_MAKERS[name]).make(name, settings)
    return made
