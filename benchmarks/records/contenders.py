"""Who is measured: each contender by name, the function that makes its batches, and on what."""

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Opener = Callable[[Path, int, int], Iterable[Any]]
"""(folder with the data, records of a batch, worker processes) -> batches."""

Counter = Callable[[Any], int]
"""A batch -> its records."""

Numberer = Callable[[Any], list[int]]
"""A batch -> the numbers of its records in the data, from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """One way to read the data."""

    name: str
    """As the tables show it, unique."""
    kind: str
    """The format: a folder of `data.make_data`."""
    function: str
    """`module:name` of the opener, below this package."""
    yields: str
    """What a batch holds."""
    order: str
    """How it shuffles: "full", "windows", "10k buffer"; "no" where it does not."""
    workers: tuple[int, ...] = (0,)
    """Worker processes to measure it with."""
    batch_sizes: tuple[int, ...] = (32, 1024)
    count: str = "counts:length"
    """`module:name` of the counter."""
    numbers: str = "counts:numbers_in_text"
    """`module:name` of the numberer."""

    def opener(self) -> Opener:
        """Import what makes the batches."""
        opener: Opener = _find(self.function)
        return opener

    def counter(self) -> Counter:
        """Import what counts a batch."""
        counter: Counter = _find(self.count)
        return counter

    def numberer(self) -> Numberer:
        """Import what tells which records a batch holds."""
        numberer: Numberer = _find(self.numbers)
        return numberer


def _find(function: str) -> Any:  # noqa: ANN401 - one of the three callables above
    module, _, name = function.partition(":")
    return getattr(importlib.import_module(f"benchmarks.records.{module}"), name)


SOURCE = Contender(
    name="readlines + DataLoader",
    kind="lines",
    function="peers.usual:readlines",
    yields="str",
    order="full",
    workers=(0, 2),
)
PYARROW_CSV = Contender(
    name="pyarrow.csv",
    kind="lines",
    function="peers.arrow:csv_lines",
    yields="str",
    order="no",
)
RAW = Contender(
    name="raw: readv + newlines",
    kind="lines",
    function="raw:count_newlines",
    yields="counts",
    order="no",
    batch_sizes=(1024,),
    count="counts:itself",
)
OURS_STR = Contender(
    name="evenshard, str",
    kind="lines",
    function="ours:as_str",
    yields="str",
    order="windows",
)
OURS_PACKED = Contender(
    name="evenshard, packed",
    kind="lines",
    function="ours:as_packed",
    yields="uint8 + offsets",
    order="windows",
    numbers="counts:numbers_in_packed",
)
PYARROW_PARQUET = Contender(
    name="pyarrow.dataset.to_batches",
    kind="parquet",
    function="peers.arrow:parquet_batches",
    yields="arrow",
    order="no",
    numbers="counts:numbers_in_arrow",
)
OURS_PARQUET = Contender(
    name="evenshard, Parquet",
    kind="parquet",
    function="ours:as_arrow",
    yields="arrow",
    order="windows",
    numbers="counts:numbers_in_arrow",
)
OURS_PARQUET_SMALL_GROUPS = Contender(
    name="evenshard, Parquet in small row groups",
    kind="parquet_small_groups",
    function="ours:as_arrow",
    yields="arrow",
    order="windows",
    batch_sizes=(1024,),
    numbers="counts:numbers_in_arrow",
)
WEBDATASET = Contender(
    name="webdataset",
    kind="tar",
    function="peers.webdataset_tar:samples",
    yields="tuples of bytes",
    order="1k buffer",
    workers=(0, 2),
    numbers="counts:numbers_in_samples",
)
OURS_TAR = Contender(
    name="evenshard, tar",
    kind="tar",
    function="ours:as_records",
    yields="dicts of bytes",
    order="windows",
    numbers="counts:numbers_in_samples",
)
PADDED = Contender(
    name="evenshard, packed to padded tokens",
    kind="lines",
    function="encoded:padded",
    yields="int64 tensor",
    order="windows",
)
PADDED_PER_RECORD = Contender(
    name="evenshard, str, tokens per record",
    kind="lines",
    function="encoded:padded_per_record",
    yields="int64 tensor",
    order="windows",
)
PADDED_USUAL = Contender(
    name="readlines + DataLoader, tokens per record",
    kind="lines",
    function="encoded:padded_usual",
    yields="int64 tensor",
    order="full",
    workers=(0, 2),
)
BAGS = Contender(
    name="evenshard, JSON Lines to n-grams",
    kind="json_lines",
    function="encoded:bags",
    yields="trainer's inputs",
    order="windows",
    count="encoded:records_of_inputs",
)
BAGS_PER_RECORD = Contender(
    name="evenshard, bytes, json.loads, n-grams per record",
    kind="json_lines",
    function="encoded:bags_per_record",
    yields="trainer's inputs",
    order="windows",
    count="encoded:records_of_inputs",
)
ENCODERS = (PADDED, PADDED_PER_RECORD, PADDED_USUAL, BAGS, BAGS_PER_RECORD)
"""Loaders that go on to what a model takes."""
CONTENDERS = (
    RAW,
    SOURCE,
    Contender(
        name="IterableDataset over open()",
        kind="lines",
        function="peers.usual:open_files",
        yields="str",
        order="no",
    ),
    PYARROW_CSV,
    Contender(
        name="tf.data TextLineDataset",
        kind="lines",
        function="peers.tensorflow_data:text_lines",
        yields="tf.string",
        order="10k buffer",
        count="peers.tensorflow_data:length",
        numbers="peers.tensorflow_data:numbers",
    ),
    Contender(
        name="litdata",
        kind="lines",
        function="peers.litdata_chunks:texts",
        yields="str",
        order="runs of 256",
        workers=(0, 2),
    ),
    Contender(
        name="litdata, whole chunks shuffled",
        kind="lines",
        function="peers.litdata_chunks:texts_of_shuffled_chunks",
        yields="str",
        order="chunks of 64 MB",
    ),
    Contender(
        name="Hugging Face datasets, map",
        kind="lines",
        function="peers.huggingface:map_lines",
        yields="str",
        order="full",
    ),
    Contender(
        name="Hugging Face datasets, iterable",
        kind="lines",
        function="peers.huggingface:iterate_lines",
        yields="str",
        order="shards, 10k buffer",
    ),
    Contender(
        name="Hugging Face datasets, iterable, Arrow",
        kind="lines",
        function="peers.huggingface:iterate_arrow",
        yields="arrow",
        order="shards, 10k buffer",
        numbers="counts:numbers_in_arrow",
    ),
    Contender(
        name="Hugging Face datasets, streaming",
        kind="lines",
        function="peers.huggingface:stream_lines",
        yields="str",
        order="10k buffer",
    ),
    OURS_STR,
    OURS_PACKED,
    Contender(
        name="readlines + json.loads",
        kind="json_lines",
        function="peers.usual:readlines_json",
        yields="dicts",
        order="full",
        numbers="counts:numbers_in_records",
    ),
    Contender(
        name="pyarrow.json",
        kind="json_lines",
        function="peers.arrow:json_records",
        yields="dicts",
        order="no",
        numbers="counts:numbers_in_records",
    ),
    Contender(
        name="Hugging Face datasets, JSON, map",
        kind="json_lines",
        function="peers.huggingface:map_json_lines",
        yields="dicts",
        order="full",
        numbers="counts:numbers_in_records",
    ),
    Contender(
        name="evenshard, JSON Lines",
        kind="json_lines",
        function="ours:as_records",
        yields="dicts",
        order="windows",
        numbers="counts:numbers_in_records",
    ),
    PYARROW_PARQUET,
    Contender(
        name="Hugging Face datasets, Parquet, map",
        kind="parquet",
        function="peers.huggingface:map_parquet",
        yields="arrow",
        order="full",
        numbers="counts:numbers_in_arrow",
    ),
    OURS_PARQUET,
    OURS_PARQUET_SMALL_GROUPS,
    WEBDATASET,
    OURS_TAR,
)
BY_NAME = {contender.name: contender for contender in (*CONTENDERS, *ENCODERS)}
