"""Samples found by numpy are those found header by header, in random archives."""

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from tests.property.shard_files import few_and_many, run_property
from tests.unit.records.formats.shard_files import blocks_of, listed
from training.records import RecordError, Shard
from training.records.formats import tar, tar_index
from training.records.reading import open_shard

NAMES = st.text(alphabet="aB./_é0", min_size=1, max_size=12)


def _found_or_refused(
    way: Callable[[io.FileIO, Shard], tar_index.TarIndex | None], file: io.FileIO, shard: Shard
) -> tar_index.TarIndex | str | None:
    try:
        return way(file, shard)
    except RecordError as error:
        return str(error)


def _arrays_find_what_the_walk_finds(
    folder: Path, names: list[str], kind: int, sizes: list[int], block_bytes: int
) -> None:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w", format=kind) as archive:
        for number, name in enumerate(names):
            info = tarfile.TarInfo(name)
            info.size = sizes[number % len(sizes)]
            info.mtime = number / 2
            archive.addfile(info, io.BytesIO(bytes([number]) * info.size))
    (folder / "a.tar").write_bytes(sink.getvalue())
    shard = listed(folder, "a.tar")
    with open_shard(shard) as file:
        by_arrays, by_walking = (
            _found_or_refused(way, file, shard)
            for way in (tar_index._by_arrays, tar_index._by_walking)
        )
    if not isinstance(by_arrays, tar_index.TarIndex):
        # Either the same refusal, or it is left to the walk.
        assert by_arrays in (None, by_walking)
        return
    assert isinstance(by_walking, tar_index.TarIndex)
    assert by_arrays.starts.tolist() == by_walking.starts.tolist()
    assert by_arrays[1:] == by_walking[1:]
    shard_format = tar.TarFormat(block_bytes=block_bytes)
    blocks = blocks_of(shard_format, [shard])
    samples = shard_format.read(blocks)._samples
    bounds = [block.start - blocks[0].start for block in blocks] if blocks else []
    walked = tar._by_walking(
        samples.content,
        samples.shards,
        np.array([*bounds, len(samples.content)], np.int64),
        shard_format._endings,
    )
    assert samples.bounds.tolist() == walked.bounds.tolist()
    assert samples.endings == walked.endings
    assert samples.parts.tolist() == walked.parts.tolist()
    assert samples.firsts.tolist() == walked.firsts.tolist()
    assert samples.keys.to_pylist() == walked.keys.to_pylist()
    assert samples.lengths.tolist() == walked.lengths.tolist()


@few_and_many
def test_tar_by_arrays_is_tar_by_walking(examples: settings) -> None:
    keys = st.lists(st.text(alphabet="abc/", min_size=1, max_size=4), max_size=8, unique=True)
    endings = st.lists(st.sampled_from(["x", "Y", "z.w", "long"]), min_size=1, unique=True)
    usual = st.tuples(keys, endings).map(
        lambda both: [f"{k}.{e}" for k in both[0] for e in both[1]]
    )
    run_property(
        _arrays_find_what_the_walk_finds,
        examples,
        names=st.one_of(usual, st.lists(NAMES, max_size=6)),
        kind=st.sampled_from([tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]),
        sizes=st.lists(st.sampled_from([0, 1, 511, 512, 513, 3000]), min_size=1, max_size=4),
        block_bytes=st.sampled_from([1, 2000, 5000, 1 << 17]),
    )
