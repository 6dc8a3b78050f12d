"""Hugging Face datasets: its Arrow cache read at random (map) or in shards (iterable), and files.

The cache is written before anything is measured.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import datasets
from torch.utils.data import DataLoader

BUFFER_RECORDS = 10_000
SHARDS = 64

datasets.disable_progress_bars()


def map_lines(folder: Path, batch_size: int, workers: int) -> Iterable[Any]:
    """Read lines at random; a batch is a list of str."""
    return DataLoader(
        _cached("text", folder),
        shuffle=True,
        batch_size=batch_size,
        num_workers=workers,
        collate_fn=_texts,
    )


def map_json_lines(folder: Path, batch_size: int, workers: int) -> Iterable[Any]:
    """Read JSON Lines at random; a batch is a list of dicts."""
    return DataLoader(
        _cached("json", folder),
        shuffle=True,
        batch_size=batch_size,
        num_workers=workers,
        collate_fn=list,
    )


def map_parquet(folder: Path, batch_size: int, _workers: int) -> Iterable[Any]:
    """Read Parquet at random; a batch is an Arrow table."""
    dataset = _cached("parquet", folder).with_format("arrow").shuffle(seed=0, keep_in_memory=True)
    batches: Iterable[Any] = dataset.iter(batch_size)
    return batches


def stream_lines(folder: Path, batch_size: int, workers: int) -> Iterable[Any]:
    """Stream lines through a shuffle buffer; a batch is a list of str."""
    dataset = datasets.load_dataset(
        "text", data_files=_paths(folder), split="train", streaming=True
    ).shuffle(seed=0, buffer_size=BUFFER_RECORDS)
    return DataLoader(dataset, batch_size=batch_size, num_workers=workers, collate_fn=_texts)


def iterate_lines(folder: Path, batch_size: int, _workers: int) -> Iterable[Any]:
    """Read the cache in shards through a shuffle buffer, as is advised for speed; yield str."""
    for batch in _iterable(folder).batch(batch_size):
        yield batch["text"]


def iterate_arrow(folder: Path, batch_size: int, _workers: int) -> Iterable[Any]:
    """Read the cache the same way; a batch is an Arrow table."""
    batches: Iterable[Any] = _iterable(folder, "arrow").iter(batch_size)
    return batches


def convert(folder: Path, kind: str) -> None:
    """Write the Arrow cache of a folder, unless it is there."""
    _cached({"lines": "text", "json_lines": "json", "parquet": "parquet"}[kind], folder)


def _cached(builder: str, folder: Path) -> Any:  # noqa: ANN401 - datasets has no types
    return datasets.load_dataset(
        builder,
        data_files=_paths(folder),
        split="train",
        cache_dir=str(folder.with_name("huggingface")),
    )


def _iterable(folder: Path, form: str | None = None) -> Any:  # noqa: ANN401 - the same
    dataset = _cached("text", folder).to_iterable_dataset(num_shards=SHARDS).with_format(form)
    return dataset.shuffle(seed=0, buffer_size=BUFFER_RECORDS)


def _paths(folder: Path) -> list[str]:
    return [str(path) for path in sorted(folder.iterdir())]


def _texts(records: list[dict[str, str]]) -> list[str]:
    return [record["text"] for record in records]
