"""The data that loaders are measured on: the same text as lines, JSON Lines, Parquet and chunks.

Each record begins with its number, so that the shuffle can be judged from the batches.
"""

import io
import json
import os
import shutil
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from benchmarks.records.text import Text

SHARDS = 16
BYTES_PER_LINE = 218
"""On average, of the text that `Text` makes with a record's number in front."""
ROWS_PER_GROUP = 16_384
ROWS_PER_SMALL_GROUP = 1_024
PARQUET_SMALL_GROUPS = "parquet_small_groups"
"""The same records as Parquet that was written to be shuffled."""
SAMPLE_BYTES = 2_000
COPIES = 8
"""How many times the data the large listing shows."""
MEMORY_SMALL, MEMORY_LARGE = "memory_small", "memory_large"
"""Lines whose epochs' memory is compared: 5/4 of the lines, and eight times that."""
LARGE_PER_SMALL = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Records of each format."""

    lines: int
    json_lines: int
    parquet: int
    tar: int

    @classmethod
    def of(cls, megabytes: int) -> "Sizes":
        """Choose the records of each format from the megabytes of lines."""
        lines = megabytes * 1_000_000 // BYTES_PER_LINE // SHARDS * SHARDS
        # The others are slower: fewer records keep a whole epoch of each to seconds.
        return cls(lines=lines, json_lines=lines // 4, parquet=lines // 2, tar=lines // 40)


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """Where the data lies and how much it is."""

    root: Path
    sizes: Sizes

    def records(self, kind: str) -> int:
        """Count the records of a folder."""
        if kind == "lines_large":
            return self.sizes.lines * COPIES
        if kind == PARQUET_SMALL_GROUPS:
            return self.sizes.parquet
        if kind in (MEMORY_SMALL, MEMORY_LARGE):
            small = self.sizes.lines * 5 // 4 // SHARDS * SHARDS
            return small if kind == MEMORY_SMALL else small * LARGE_PER_SMALL
        return int(getattr(self.sizes, kind))

    def folder(self, kind: str) -> Path:
        """Name the folder of a format."""
        return self.root / kind


def make_data(root: Path, megabytes: int) -> Data:
    """Write what is not there yet.

    Args:
        root: Keeps the data of each size apart, below it.
        megabytes: Of lines.
    """
    data = Data(root=root / f"{megabytes}-megabytes", sizes=Sizes.of(megabytes))
    writers: dict[str, Callable[[Path, Sizes], None]] = {
        "lines": _write_lines,
        "json_lines": _write_json_lines,
        "parquet": partial(_write_parquet, rows_per_group=ROWS_PER_GROUP),
        PARQUET_SMALL_GROUPS: partial(_write_parquet, rows_per_group=ROWS_PER_SMALL_GROUP),
        "tar": _write_tar,
        "lines_large": _link_copies,
    }
    for kind, write in writers.items():
        folder = data.folder(kind)
        if folder.exists():
            continue
        unfinished = folder.with_name(f"{kind}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        write(unfinished, data.sizes)
        unfinished.rename(folder)
    return data


@contextmanager
def memory_data(data: Data) -> Iterator[None]:
    """Hold the lines whose epochs' memory is compared, in files of their own, until the end.

    They are all different: 4.5 GB, from 400 MB of lines.
    """
    shards_of = {MEMORY_SMALL: SHARDS, MEMORY_LARGE: SHARDS * LARGE_PER_SMALL}
    try:
        for kind, shards in shards_of.items():
            shutil.rmtree(data.folder(kind), ignore_errors=True)
            data.folder(kind).mkdir(parents=True)
            _write_numbered_lines(data.folder(kind), data.records(kind), shards)
        yield
    finally:
        for kind in shards_of:
            shutil.rmtree(data.folder(kind), ignore_errors=True)


def read_into_cache(data: Data) -> None:
    """Read everything once: what is measured afterwards is the loaders, not the disk."""
    # The large listing holds links to files that are read anyway; memory is measured without a
    # clock.
    left_out = {data.folder(kind) for kind in ("lines_large", MEMORY_SMALL, MEMORY_LARGE)}
    for path in sorted(data.root.rglob("*")):
        if path.is_file() and not left_out.intersection(path.parents):
            with path.open("rb") as file:
                while file.read(16 << 20):
                    pass


def _numbered(
    seed: int, records: int, shards: int = SHARDS
) -> Iterator[tuple[int, list[tuple[int, bytes]]]]:
    """Yield the number of each shard and its records: (number, text)."""
    text = Text(seed)
    per_shard = -(-records // shards)
    for shard in range(shards):
        first = shard * per_shard
        count = min(per_shard, records - first)
        yield shard, list(enumerate(text.lines(count), start=first))


def _write_lines(folder: Path, sizes: Sizes) -> None:
    _write_numbered_lines(folder, sizes.lines, SHARDS)


def _write_numbered_lines(folder: Path, count: int, shards: int) -> None:
    for shard, records in _numbered(0, count, shards):
        with (folder / f"part-{shard:05d}.txt").open("wb") as file:
            file.writelines(b"%09d %s\n" % record for record in records)


def _write_json_lines(folder: Path, sizes: Sizes) -> None:
    for shard, records in _numbered(1, sizes.json_lines):
        with (folder / f"part-{shard:05d}.jsonl").open("w", encoding="utf-8") as file:
            for number, text in records:
                # One in ten quotes something: escapes are part of real text.
                said = f'"{text.decode()}"\n' if number % 10 == 0 else text.decode()
                record = {"text": f"{number:09d} {said}", "label": number % 2}
                file.write(json.dumps(record, ensure_ascii=False) + "\n")


def _write_parquet(folder: Path, sizes: Sizes, *, rows_per_group: int) -> None:
    for shard, records in _numbered(2, sizes.parquet):
        table = pa.table(
            {
                "text": [f"{number:09d} {text.decode()}" for number, text in records],
                "label": [number % 2 for number, _ in records],
            }
        )
        parquet.write_table(
            table, folder / f"part-{shard:05d}.parquet", row_group_size=rows_per_group
        )


def _write_tar(folder: Path, sizes: Sizes) -> None:
    random = np.random.Generator(np.random.PCG64(3))
    numbers = iter(range(sizes.tar))
    per_shard = -(-sizes.tar // SHARDS)
    for shard in range(SHARDS):
        with tarfile.open(
            folder / f"shard-{shard:05d}.tar", "w", format=tarfile.USTAR_FORMAT
        ) as tar:
            for number in islice(numbers, per_shard):
                for ending, content in (
                    ("bin", random.bytes(SAMPLE_BYTES)),
                    ("cls", b"%d" % (number % 10)),
                ):
                    member = tarfile.TarInfo(f"{number:09d}.{ending}")
                    member.size = len(content)
                    tar.addfile(member, io.BytesIO(content))


def _link_copies(folder: Path, _: Sizes) -> None:
    """Show the lines several times over, as links to one file: no more disk, no more page cache."""
    lines = folder.parent / "lines"
    for copy in range(COPIES):
        (folder / f"copy-{copy}").mkdir()
        for path in lines.iterdir():
            os.link(path, folder / f"copy-{copy}" / path.name)
