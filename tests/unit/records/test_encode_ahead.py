import json
import threading
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.unit.records import reference_encoding as reference
from tests.unit.records.host_data import host_loaders, write_shards
from tests.unit.records.own_threads import OwnThreads
from training.records import LoaderSettings, RecordError, RecordLoader
from training.records.encoding import EncodedBatch, NgramEncoder, Ragged, encode_ahead
from training.records.packed import Packed

ENCODER = NgramEncoder(buckets=1000, ngrams=2)


def make_records(count: int) -> list[dict[str, Any]]:
    return [
        {"text": f"Mail {n} " + "words and words " * (n % 13), "label": n % 5 % 2}
        for n in range(count)
    ]


def loader_of(folder: Path, batch_size: int, output: str = "packed") -> RecordLoader:
    settings = LoaderSettings(batch_size=batch_size, seed=3, output=output)
    (loader,) = host_loaders(folder, settings)
    return loader


def write_lines(folder: Path, records: list[dict[str, Any]], *, more: bytes = b"") -> Path:
    content = "".join(json.dumps(record) + "\n" for record in records).encode()
    return write_shards(folder, {"a.jsonl": content + more})


def contents(encoded: EncodedBatch) -> tuple[list[list[int]], list[int]]:
    bounds = encoded.ids.offsets.tolist()
    assert bounds[0] == 0
    ids = [encoded.ids.ids[first:last].tolist() for first, last in pairwise(bounds)]
    return ids, encoded.labels.tolist()


def expected(loader: RecordLoader) -> list[tuple[list[list[int]], list[int]]]:
    return [
        (
            [reference.bag(record["text"], 2, 1000) for record in batch.records],
            [record["label"] for record in batch.records],
        )
        for batch in loader.epoch(0)
    ]


@pytest.mark.parametrize("output", ["packed", "records"])
@pytest.mark.parametrize(("count", "batch_size"), [(5000, 32), (5000, 3000), (300, 7), (1, 4)])
def test_batches_are_those_encoded_one_by_one(
    tmp_path: Path, output: str, count: int, batch_size: int
) -> None:
    loader = loader_of(write_lines(tmp_path, make_records(count)), batch_size, output)
    encoded = list(encode_ahead(loader.epoch(0), ENCODER.bags))
    assert [contents(one) for one in encoded] == expected(loader)
    assert sum(len(one.batch) for one in encoded) == count


def test_columns_are_encoded_alike(tmp_path: Path) -> None:
    parquet.write_table(
        pa.Table.from_pylist(make_records(3000)), tmp_path / "a.parquet", row_group_size=500
    )
    loader = loader_of(tmp_path, 50, "arrow")
    encoded = encode_ahead(loader.epoch(0), ENCODER.bags)
    assert [contents(one) for one in encoded] == expected(loader)


def test_many_batches_are_encoded_at_once_by_another_thread(tmp_path: Path) -> None:
    sizes: list[int] = []

    def encode(texts: Packed) -> Ragged:
        assert threading.current_thread() is not threading.main_thread()
        sizes.append(len(texts))
        return ENCODER.bags(texts)

    loader = loader_of(write_lines(tmp_path, make_records(5000)), 32)
    assert len(list(encode_ahead(loader.epoch(0), encode))) == 157
    assert sizes == [2048, 2048, 904]


def test_batches_before_a_bad_record_come_first(tmp_path: Path) -> None:
    folder = write_lines(tmp_path, make_records(100), more=b'{"text": "x", "label": 3}\n')
    settings = LoaderSettings(batch_size=30, seed=0, output="packed", shuffle=False)
    (loader,) = host_loaders(folder, settings)
    encoded = encode_ahead(loader.epoch(0), ENCODER.bags)
    assert [len(one.batch) for one in islice(encoded, 3)] == [30, 30, 30]
    with pytest.raises(RecordError, match=r"^a\.jsonl, line 101: label is 3\."):
        next(encoded)


def test_the_state_is_that_after_the_batches_handed_out(tmp_path: Path) -> None:
    folder = write_lines(tmp_path, make_records(1000))
    loader, other = loader_of(folder, 32), loader_of(folder, 32)
    epoch, plain = loader.epoch(0), other.epoch(0)
    encoded = encode_ahead(epoch, ENCODER.bags)
    for _ in range(5):
        next(encoded)
        next(plain)
    assert epoch.state_dict() == plain.state_dict()


def test_dropping_it_ends_its_thread(tmp_path: Path) -> None:
    loader = loader_of(write_lines(tmp_path, make_records(5000)), 32)
    own = OwnThreads()
    epoch = loader.epoch(0)
    encoded = encode_ahead(epoch, ENCODER.bags)
    next(encoded)
    assert own.count() > 0
    del encoded
    epoch.close()
    assert own.count() == 0


def test_no_batches_are_encoded_as_none() -> None:
    assert list(encode_ahead([], ENCODER.bags)) == []
