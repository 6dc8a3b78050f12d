"""Which format a shard has, by the ending of its name or by choice."""

from collections.abc import Iterable, Mapping, Sequence

from training.records.errors import RecordError

ENDINGS: Mapping[str, str] = {
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
"""Endings of shards' names, in lower case, and the format each goes by."""

COMPRESSED = (".gz", ".zst")
"""Endings of files that are read through a decompressor, whatever is inside."""

NAMES_IN_A_MESSAGE = 5
"""File names a message lists before it only counts the rest."""


def format_of(names: Iterable[str], chosen: str | None = None) -> str | None:
    """Find the one format of some shards.

    Args:
        names: Of the shards.
        chosen: A format by name; endings then tell only what is compressed.

    Returns:
        The format's name; None without shards and without a choice.

    Raises:
        RecordError: A name's ending is unknown, or the endings belong to several formats.
    """
    by_format: dict[str, list[str]] = {}
    unknown = []
    for name in names:
        found = _format_of_name(name, chosen)
        if found is None:
            unknown.append(name)
        else:
            by_format.setdefault(found, []).append(name)
    if unknown:
        raise RecordError(
            f"{listed(unknown)}: only files whose names end in {', '.join(ENDINGS)} can be read"
            " unless the format is chosen. Convert, rename or remove the others."
        )
    if len(by_format) > 1:
        found = "; ".join(f"{listed(names)} ({name})" for name, names in by_format.items())
        raise RecordError(
            f"{found}: the shards of a channel must be of one format. Convert or remove the others."
        )
    return next(iter(by_format), chosen)


def listed(names: Sequence[str]) -> str:
    """Join the first few of `names` and count the rest."""
    shown = ", ".join(names[:NAMES_IN_A_MESSAGE])
    rest = len(names) - NAMES_IN_A_MESSAGE
    return f"{shown} and {rest} more" if rest > 0 else shown


def _format_of_name(name: str, chosen: str | None) -> str | None:
    """Return the format of one shard, None when its ending tells none."""
    lower = name.lower()
    if chosen is not None:
        return f"compressed_{chosen}" if lower.endswith(COMPRESSED) else chosen
    return next((found for ending, found in ENDINGS.items() if lower.endswith(ending)), None)
