"""What a shard may be called: one truth for Preflight, which sees names, and for the trainers.

Standard library only.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import Final

from training.contract.hyperparameters import IMAGE_TASK, TEXT_TASK

ENDINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        ".txt": "lines",
        ".jsonl": "json_lines",
        ".ndjson": "json_lines",
        ".csv": "csv",
        ".parquet": "parquet",
        ".tar": "tar",
        ".txt.gz": "compressed_lines",
        ".txt.zst": "compressed_lines",
        ".jsonl.gz": "compressed_json_lines",
        ".jsonl.zst": "compressed_json_lines",
    }
)
"""Endings of shards' names, in lower case, and the format each goes by."""

_TASK_FORMATS: Final[Mapping[str, Sequence[str]]] = MappingProxyType(
    {
        # Records with a text and a number: the other formats hold text or bytes only.
        TEXT_TASK: ("json_lines", "compressed_json_lines", "parquet"),
        IMAGE_TASK: ("tar",),
    }
)
"""What the built-in tasks read; a task of the user's own may read any format."""

COMPRESSED: Final = (".gz", ".zst")
"""Endings of files that are read through a decompressor, whatever is inside."""

NAMES_SHOWN: Final = 5
"""A message names this many files or hosts and counts the others."""


class ShardNameError(ValueError):
    """Names whose endings are unknown, or belong to several formats."""


def endings_of_task(task: str = TEXT_TASK) -> tuple[str, ...]:
    """The endings of the names of shards that a task, by its hyperparameter, can read."""
    formats = _TASK_FORMATS.get(task, tuple(ENDINGS.values()))
    return tuple(ending for ending, name in ENDINGS.items() if name in formats)


class NameKind(Enum):
    """What a trainer does with a file."""

    SHARD = "read"
    HIDDEN = "skipped: a part of its path starts with a dot"
    EMPTY = "skipped: it has no bytes"
    OTHER = "refused: it has bytes, and an ending that is not allowed"


def kind_of(name: str, size_bytes: int, task: str = TEXT_TASK) -> NameKind:
    """Judge a file or object by its name and size, as a task does.

    Args:
        name: the path below the channel's folder or prefix, separated by "/".
        size_bytes: 0 or more.
        task: the hyperparameter.
    """
    if any(is_hidden(part) for part in name.split("/")):
        return NameKind.HIDDEN
    if size_bytes == 0:
        return NameKind.EMPTY
    return NameKind.SHARD if name.lower().endswith(endings_of_task(task)) else NameKind.OTHER


def is_hidden(part: str) -> bool:
    """Whether one part of a path, a folder's or a file's own name, hides what it names."""
    return part.startswith(".")


def refusal(names: Sequence[str], place: str, task: str = TEXT_TASK) -> str:
    """What to tell someone whose files are of kind OTHER.

    Args:
        names: of these files, 1 or more.
        place: the folder or prefix that holds them.
        task: the hyperparameter.
    """
    return (
        f"{listed(names)} below {place}: only files whose names end in "
        f"{', '.join(endings_of_task(task))} can be read. Convert, rename or remove the others."
    )


def listed(names: Sequence[str]) -> str:
    """Join names for a message, the first few and the number of the others."""
    shown = ", ".join(names[:NAMES_SHOWN])
    others = len(names) - NAMES_SHOWN
    return f"{shown} and {others} more" if others > 0 else shown


def format_of(names: Iterable[str], chosen: str | None = None) -> str | None:
    """Find the one format of some shards.

    Args:
        names: of the shards.
        chosen: a format by name; endings then tell only what is compressed.

    Returns:
        The format's name; None without shards and without a choice.

    Raises:
        ShardNameError: a name's ending is unknown, or the endings belong to several formats.
    """
    by_format: dict[str, list[str]] = {}
    unknown = []
    for name in names:
        found = format_of_name(name, chosen)
        if found is None:
            unknown.append(name)
        else:
            by_format.setdefault(found, []).append(name)
    if unknown:
        raise ShardNameError(
            f"{listed(unknown)}: only files whose names end in {', '.join(ENDINGS)} can be read "
            "unless the format is chosen. Convert, rename or remove the others."
        )
    if len(by_format) > 1:
        groups = "; ".join(f"{listed(shards)} ({name})" for name, shards in by_format.items())
        raise ShardNameError(
            f"{groups}: the shards of a channel must be of one format. Convert or remove the "
            "others."
        )
    return next(iter(by_format), chosen)


def format_of_name(name: str, chosen: str | None = None) -> str | None:
    """The format of one shard; None when its ending tells none."""
    lower = name.lower()
    if chosen is not None:
        return f"compressed_{chosen}" if lower.endswith(COMPRESSED) else chosen
    return next((found for ending, found in ENDINGS.items() if lower.endswith(ending)), None)
