from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.unit.records.formats.shard_files import (
    blocks_of,
    counts_and_lengths,
    cut_short,
    listed,
    read_all,
    rows_of,
)
from training.records.errors import RecordError
from training.records.formats.parquet import FOOTERS_KEPT, ParquetFormat
from training.records.formats.protocol import FormatSettings
from training.records.formats.registry import make_format
from training.records.shards import Shard


def write(
    folder: Path, name: str, columns: dict[str, Any], *, rows_of_a_group: int = 4, **options: object
) -> Shard:
    pq.write_table(pa.table(columns), folder / name, row_group_size=rows_of_a_group, **options)
    return listed(folder, name)


def numbers(first: int, count: int) -> dict[str, Any]:
    ids = list(range(first, first + count))
    return {"id": ids, "text": [f"text {n}" for n in ids]}


def test_row_groups_are_blocks_and_the_footer_counts_them(tmp_path: Path) -> None:
    shard = write(tmp_path, "a.parquet", numbers(0, 10))
    for count in (True, False):
        index = ParquetFormat().index(shard, count=count)
        assert index.bounds.tolist() == [0, 1, 2, 3]
        assert index.counts is not None
        assert index.counts.tolist() == [4, 4, 2]


def test_the_sizes_of_blocks_are_those_of_the_chosen_columns(tmp_path: Path) -> None:
    columns = {"id": range(100), "text": ["x" * 100] * 100, "tags": [["a"] * 9] * 100}
    shard = write(
        tmp_path, "a.parquet", columns, rows_of_a_group=50, use_dictionary=False, compression="zstd"
    )
    sizes = {
        name: ParquetFormat(columns=chosen).index(shard, count=True).sizes
        for name, chosen in {"id": ("id",), "text": ("text",), "tags": ("tags",), "": None}.items()
    }
    numbers_of = {name: [] if size is None else size.tolist() for name, size in sizes.items()}
    # 50 numbers of 8 bytes; what is left of the row group's bytes is shared by the other two.
    assert numbers_of["id"] == [400, 400]
    assert numbers_of["text"] == numbers_of["tags"]
    assert [5000 // 2 < size < 9000 // 2 for size in numbers_of["text"]] == [True, True]
    parts = zip(numbers_of["id"], numbers_of["text"], numbers_of["tags"], strict=True)
    assert [abs(size - sum(part)) <= 1 for size, part in zip(numbers_of[""], parts, strict=True)]


def test_the_index_reads_no_data(tmp_path: Path) -> None:
    shard = write(tmp_path, "a.parquet", numbers(0, 1000), rows_of_a_group=100, compression="none")
    content = bytearray(shard.path.read_bytes())
    content[4:2000] = bytes(1996)  # Column data: everything but the magic word and the footer.
    shard.path.write_bytes(content)
    counts = ParquetFormat().index(shard, count=True).counts
    assert counts is not None
    assert counts.sum() == 1000
    with pytest.raises(RecordError, match=r"a\.parquet is no readable Parquet file"):
        read_all(ParquetFormat(), [shard])


def test_rows_come_as_taken(tmp_path: Path) -> None:
    shards = [write(tmp_path, f"{n}.parquet", numbers(10 * n, 10)) for n in range(3)]
    parquet = ParquetFormat()
    blocks = blocks_of(parquet, shards)
    chosen = [blocks[1], blocks[7], blocks[2], blocks[5]]
    records = parquet.read(chosen)
    assert records.lengths.tolist() == [4, 4, 2, 2]
    rows = records.take(np.array([11, 0, 4, 9, 8]))
    assert [row["id"] for row in rows.output("records")] == [19, 4, 24, 9, 8]
    assert rows.output("arrow").column("text").to_pylist()[1:3] == ["text 4", "text 24"]
    assert rows.slice(1, 3).output("records") == [
        {"id": 4, "text": "text 4"},
        {"id": 24, "text": "text 24"},
    ]
    places = [rows.locate(index) for index in range(5)]
    expected = [("1", 10), ("0", 5), ("2", 5), ("0", 10), ("0", 9)]
    assert places == [f"{name}.parquet, row {row}" for name, row in expected]
    assert rows.slice(2, 4).locate(1) == "0.parquet, row 10"


def test_only_the_chosen_columns_come_in_their_order(tmp_path: Path) -> None:
    shard = write(tmp_path, "a.parquet", {**numbers(0, 3), "other": [1.5, 2.5, 3.5]})
    chosen = ParquetFormat(columns=("other", "id"))
    assert read_all(chosen, [shard])[0] == {"other": 1.5, "id": 0}


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()])
def test_one_column_of_text_comes_as_lines_do(tmp_path: Path, kind: pa.DataType) -> None:
    texts = ["one", "", "tür"]
    shard = write(tmp_path, "a.parquet", {"id": [1, 2, 3], "text": pa.array(texts).cast(kind)})
    parquet = ParquetFormat(columns=("text",))
    assert read_all(parquet, [shard], "str") == texts
    assert read_all(parquet, [shard], "bytes") == [text.encode() for text in texts]
    packed = read_all(parquet, [shard], "packed")
    assert packed.offsets.tolist() == [0, 3, 3, 7]
    assert packed.content.tobytes() == "onetür".encode()


@pytest.mark.parametrize("columns", [None, ("id",)])
def test_text_of_several_columns_or_of_numbers_is_refused(
    tmp_path: Path, columns: tuple[str, ...] | None
) -> None:
    shard = write(tmp_path, "a.parquet", numbers(0, 3))
    with pytest.raises(ValueError, match=r"one column of text or bytes\. Choose one"):
        read_all(ParquetFormat(columns=columns), [shard], "str")


def test_a_null_is_not_taken_for_empty_text(tmp_path: Path) -> None:
    shard = write(tmp_path, "a.parquet", {"text": ["a"] * 5 + [None]})
    assert read_all(ParquetFormat(), [shard])[5] == {"text": None}
    with pytest.raises(RecordError, match=r"^a\.parquet, row 6: text is null"):
        read_all(ParquetFormat(), [shard], "packed")


def test_nested_and_dictionary_columns_keep_their_values(tmp_path: Path) -> None:
    columns = {
        "tags": [["a", "b"], [], None, ["c"]] * 3,
        "kind": pa.array(["x", "y", "x", "z"] * 3).dictionary_encode(),
        "point": [{"x": n, "y": -n} for n in range(12)],
    }
    shards = [write(tmp_path, f"{n}.parquet", columns) for n in range(2)]
    expected = pa.table(columns).to_pylist()
    assert read_all(ParquetFormat(), shards) == expected * 2


def test_files_without_rows_are_read(tmp_path: Path) -> None:
    schema = pa.schema({"id": pa.int64(), "text": pa.string()})
    pq.write_table(schema.empty_table(), tmp_path / "a.parquet")
    shards = [listed(tmp_path, "a.parquet"), write(tmp_path, "b.parquet", numbers(0, 5))]
    assert [row["id"] for row in read_all(ParquetFormat(), shards)] == [0, 1, 2, 3, 4]
    assert rows_of(ParquetFormat().read([])).output("records") == []
    assert counts_and_lengths(ParquetFormat(), shards)[1][-2:] == [4, 1]


def test_another_schema_is_refused_by_name(tmp_path: Path) -> None:
    parquet = ParquetFormat()
    parquet.index(write(tmp_path, "a.parquet", numbers(0, 3)), count=True)
    other = write(tmp_path, "b.parquet", {"id": ["0"], "text": ["t"]})
    with pytest.raises(
        RecordError,
        match=r"b\.parquet has the columns id: string, .* but a\.parquet has id: int64",
    ):
        parquet.index(other, count=True)


def test_schemas_that_differ_in_columns_nobody_chose_are_read(tmp_path: Path) -> None:
    shards = [
        write(tmp_path, "a.parquet", {"id": [1], "other": [1]}),
        write(tmp_path, "b.parquet", {"other": ["x"], "id": [2], "third": [None]}),
    ]
    assert read_all(ParquetFormat(columns=("id",)), shards) == [{"id": 1}, {"id": 2}]


def test_a_column_that_is_not_there_is_refused(tmp_path: Path) -> None:
    shard = write(tmp_path, "a.parquet", numbers(0, 3))
    with pytest.raises(RecordError, match=r"a\.parquet has no columns 'label'; it has id, text"):
        ParquetFormat(columns=("label",)).index(shard, count=True)
    with pytest.raises(ValueError, match="at least one column"):
        ParquetFormat(columns=())


def test_a_column_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["id", "id"])
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(RecordError, match=r"a\.parquet has 2 columns 'id'"):
        ParquetFormat().index(listed(tmp_path, "a.parquet"), count=True)


@pytest.mark.parametrize("bytes_left", [0, 1, 7, 8, 400, -1, -5, -9])
def test_a_cut_file_is_refused_by_name(tmp_path: Path, bytes_left: int) -> None:
    shard = write(tmp_path, "a.parquet", numbers(0, 100))
    cut = cut_short(shard, bytes_left % shard.size_bytes)
    with pytest.raises(RecordError, match=r"a\.parquet is no readable Parquet file"):
        ParquetFormat().index(cut, count=True)


def test_a_corrupt_footer_is_refused_by_name(tmp_path: Path) -> None:
    shard = write(tmp_path, "a.parquet", numbers(0, 100))
    content = bytearray(shard.path.read_bytes())
    footer_bytes = int.from_bytes(content[-8:-4], "little")
    content[-8 - footer_bytes : -8 - footer_bytes // 2] = b"\xff" * (
        footer_bytes - footer_bytes // 2
    )
    shard.path.write_bytes(content)
    with pytest.raises(RecordError, match=r"a\.parquet is no readable Parquet file"):
        ParquetFormat().index(shard, count=True)


@pytest.mark.parametrize("compression", ["none", "zstd", "snappy"])
def test_a_changed_data_page_with_a_checksum_is_refused(tmp_path: Path, compression: str) -> None:
    shard = write(
        tmp_path, "a.parquet", numbers(0, 100), compression=compression, write_page_checksum=True
    )
    content = bytearray(shard.path.read_bytes())
    content[60] ^= 0x10
    shard.path.write_bytes(content)
    with pytest.raises(RecordError, match=r"a\.parquet is no readable Parquet file"):
        read_all(ParquetFormat(), [shard])


def test_text_that_is_not_utf8_is_refused_by_place(tmp_path: Path) -> None:
    texts = [b"x"] * 11 + [b"half of \xc3"]
    offsets = pa.py_buffer(np.cumsum([0] + [len(text) for text in texts], dtype=np.int32))
    column = pa.Array.from_buffers(pa.string(), 12, [None, offsets, pa.py_buffer(b"".join(texts))])
    shard = write(tmp_path, "a.parquet", {"text": column})
    parquet = ParquetFormat()
    blocks = blocks_of(parquet, [shard])
    assert len(rows_of(parquet.read(blocks[:2]))) == 8
    for chosen in (blocks, [blocks[2], blocks[0]], blocks[2:]):
        with pytest.raises(RecordError, match=r"^a\.parquet, row 12: .*Write text in UTF-8"):
            parquet.read(chosen)


def test_a_file_that_shrank_is_refused_though_its_footer_is_known(tmp_path: Path) -> None:
    shard = write(tmp_path, "a.parquet", numbers(0, 100))
    parquet = ParquetFormat()
    blocks = blocks_of(parquet, [shard])
    cut_short(shard, 300)
    with pytest.raises(RecordError, match=r"a\.parquet changed after the shards were listed"):
        parquet.read(blocks[:1])
    shard.path.unlink()
    with pytest.raises(RecordError, match=r"a\.parquet cannot be opened"):
        parquet.read(blocks[:1])


def test_footers_do_not_pile_up(tmp_path: Path) -> None:
    parquet = ParquetFormat()
    shards = [write(tmp_path, f"{n:03}.parquet", numbers(n, 1)) for n in range(FOOTERS_KEPT + 5)]
    assert [row["id"] for row in read_all(parquet, shards)] == list(range(FOOTERS_KEPT + 5))
    assert len(parquet._footers) == FOOTERS_KEPT


def test_the_registry_makes_it_with_its_columns(tmp_path: Path) -> None:
    shard = write(tmp_path, "a.parquet", numbers(0, 2))
    made = make_format("parquet", FormatSettings(columns=("id",)))
    assert made.name == "parquet"
    assert read_all(made, [shard]) == [{"id": 0}, {"id": 1}]
