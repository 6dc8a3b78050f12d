"""webdataset: shards shuffled, samples shuffled in a buffer, batched in the workers."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import webdataset

BUFFER_SAMPLES = 1_000


def samples(folder: Path, batch_size: int, workers: int) -> Iterable[Any]:
    """Read tar samples; a batch is a list of (key, bin, cls)."""
    paths = [str(path) for path in sorted(folder.iterdir())]
    dataset = (
        webdataset.WebDataset(paths, shardshuffle=len(paths), seed=0)
        .shuffle(BUFFER_SAMPLES)
        .to_tuple("__key__", "bin", "cls")
        .batched(batch_size, collation_fn=list)
    )
    loader: Iterable[Any] = webdataset.WebLoader(dataset, batch_size=None, num_workers=workers)
    return loader
