"""litdata on its own chunks of 64 MB, written before anything is measured."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import litdata

CHUNK_BYTES = "64MB"


def texts(folder: Path, batch_size: int, workers: int) -> Iterable[Any]:
    """Read the chunks beside `folder` by the defaults, which shuffle runs of 256 records."""
    return _loader(folder, batch_size, workers, "auto")


def texts_of_shuffled_chunks(folder: Path, batch_size: int, workers: int) -> Iterable[Any]:
    """Read the chunks beside `folder`, each of them shuffled as a whole."""
    return _loader(folder, batch_size, workers, "full")


def convert(folder: Path, _kind: str) -> None:
    """Write the lines below `folder` as chunks, unless they are there."""
    chunks = _chunks(folder)
    if (chunks / "index.json").exists():
        return
    litdata.optimize(
        fn=_lines,
        inputs=[str(path) for path in sorted(folder.iterdir())],
        output_dir=str(chunks),
        chunk_bytes=CHUNK_BYTES,
        num_workers=1,
        start_method="fork",
        verbose=False,
    )


def _loader(folder: Path, batch_size: int, workers: int, window: str) -> Iterable[Any]:
    dataset = litdata.StreamingDataset(
        str(_chunks(folder)), shuffle=True, seed=0, item_shuffle_window=window
    )
    loader: Iterable[Any] = litdata.StreamingDataLoader(
        dataset, batch_size=batch_size, num_workers=workers
    )
    return loader


def _chunks(folder: Path) -> Path:
    return folder.with_name("litdata")


def _lines(path: str) -> Iterator[str]:
    with Path(path).open(encoding="utf-8") as file:
        for line in file:
            yield line.rstrip("\n")
