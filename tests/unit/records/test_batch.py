from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.unit.records.host_data import write_shards
from training.records import find_shards
from training.records.batch import OUTPUTS, Converted, Demand, batches, converted
from training.records.formats.lines import LinesFormat
from training.records.formats.protocol import BlockRef
from training.records.windows import Chunk, WindowPlace

RECORDS = 1000


def _chunks(directory: Path) -> Iterator[Chunk]:
    write_shards(directory, {"a.txt": b"".join(b"%d\n" % n for n in range(RECORDS))})
    (shard,) = find_shards(directory)
    lines = LinesFormat(block_bytes=1 << 20, errors="strict")
    records = lines.read([BlockRef(shard, 0, shard.size_bytes)])
    place = WindowPlace(0, records.lengths)
    for first in range(0, RECORDS, RECORDS // 2):
        yield Chunk(records.take(np.arange(first, first + RECORDS // 2)), place, first)


@pytest.mark.parametrize(
    ("kind", "made"),
    [("str", [True, False]), ("bytes", [True, False]), ("packed", [True, True])],
)
def test_strings_are_made_ahead_unless_somebody_waits(
    tmp_path: Path, kind: str, made: list[bool]
) -> None:
    demand = Demand()
    chunks = (converted(chunk, OUTPUTS[kind], demand) for chunk in _chunks(tmp_path))
    # Nobody waits for the first chunk, but the consumer is back at once for the second one.
    assert [chunk.data is not None for chunk in demand.watch(chunks)] == made


@pytest.mark.parametrize("batch_size", [1, 32, 300, 7000])
@pytest.mark.parametrize("kind", ["str", "packed"])
def test_batches_do_not_depend_on_who_converts(tmp_path: Path, kind: str, batch_size: int) -> None:
    output = OUTPUTS[kind]
    ahead = (converted(chunk, output, Demand()) for chunk in _chunks(tmp_path))
    late = (Converted(chunk, None) for chunk in _chunks(tmp_path))
    made = [
        (str(batch.data), batch.offset, len(batch)) for batch in batches(ahead, output, batch_size)
    ]
    assert made == [
        (str(batch.data), batch.offset, len(batch)) for batch in batches(late, output, batch_size)
    ]
    assert sum(size for _, _, size in made) == RECORDS
    assert made[-1][1] == RECORDS
