"""The data layer of this project, as a trainer with one rank uses it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from training.records import LoaderSettings, RecordLoader, find_shards


def as_str(folder: Path, batch_size: int, _workers: int) -> Iterator[Any]:
    """Yield lists of str."""
    return _data(folder, batch_size, "str")


def as_packed(folder: Path, batch_size: int, _workers: int) -> Iterator[Any]:
    """Yield packed records: bytes and offsets."""
    return _data(folder, batch_size, "packed")


def as_arrow(folder: Path, batch_size: int, _workers: int) -> Iterator[Any]:
    """Yield Arrow tables."""
    return _data(folder, batch_size, "arrow")


def as_records(folder: Path, batch_size: int, _workers: int) -> Iterator[Any]:
    """Yield lists of dicts."""
    return _data(folder, batch_size, "records")


def make_loader(folder: Path, batch_size: int, output: str, *, count: bool = False) -> RecordLoader:
    """Make the loader of a host with one rank.

    Records are not counted unless asked for, since no peer counts them; what counting costs is
    measured apart.
    """
    settings = LoaderSettings(batch_size=batch_size, seed=0, output=output, count=count)
    return RecordLoader(find_shards(folder), settings=settings, part=0, parts=1)


def _data(folder: Path, batch_size: int, output: str) -> Iterator[Any]:
    return (batch.data for batch in make_loader(folder, batch_size, output).epoch(0))
