"""What a shard may be called: one truth for Preflight, which sees names, and for the trainers.

Standard library only.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import Final

FORMATS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {"one JSON object per line": (".jsonl",)}
)
"""What a shard may hold, in the words of the messages, and how its name ends then."""

ENDINGS: Final = tuple(ending for endings in FORMATS.values() for ending in endings)
"""Every allowed ending."""

NAMES_SHOWN: Final = 5
"""A message names this many files or hosts and counts the others."""


class NameKind(Enum):
    """What a trainer does with a file."""

    SHARD = "read"
    HIDDEN = "skipped: a part of its path starts with a dot"
    EMPTY = "skipped: it has no bytes"
    OTHER = "refused: it has bytes, and an ending that is not allowed"


def kind_of(name: str, size_bytes: int) -> NameKind:
    """Judge a file or object by its name and size.

    Args:
        name: the path below the channel's folder or prefix, separated by "/".
        size_bytes: 0 or more.
    """
    if any(is_hidden(part) for part in name.split("/")):
        return NameKind.HIDDEN
    if size_bytes == 0:
        return NameKind.EMPTY
    return NameKind.SHARD if name.endswith(ENDINGS) else NameKind.OTHER


def is_hidden(part: str) -> bool:
    """Whether one part of a path, a folder's or a file's own name, hides what it names."""
    return part.startswith(".")


def refusal(names: Sequence[str], place: str) -> str:
    """What to tell someone whose files are of kind OTHER.

    Args:
        names: of these files, 1 or more.
        place: the folder or prefix that holds them.
    """
    allowed = " or ".join(
        f"{', '.join(endings)} ({content})" for content, endings in FORMATS.items()
    )
    return (
        f"{listed(names)} below {place}: only files whose names end in {allowed} can be read. "
        "Convert, rename or remove the others."
    )


def listed(names: Sequence[str]) -> str:
    """Join names for a message, the first few and the number of the others."""
    shown = ", ".join(names[:NAMES_SHOWN])
    others = len(names) - NAMES_SHOWN
    return f"{shown} and {others} more" if others > 0 else shown
