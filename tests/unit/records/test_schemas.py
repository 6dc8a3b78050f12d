from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.unit.records.host_data import Ranks, host_loaders, numbered, write_shards
from training.records import AgreementError, EpochPlan, LoaderSettings, RecordLoader


def _host(
    directory: Path, contents: Mapping[str, bytes], columns: tuple[str, ...] | None = None
) -> list[RecordLoader]:
    settings = LoaderSettings(batch_size=4, seed=3, columns=columns)
    return host_loaders(write_shards(directory, contents), settings, parts=2)


def _parquet(columns: Mapping[str, pa.Array]) -> bytes:
    stream = pa.BufferOutputStream()
    parquet.write_table(pa.table(columns), stream)
    content: bytes = stream.getvalue().to_pybytes()
    return content


def _refusal(ranks: Ranks) -> str:
    outcomes = ranks.agree()
    assert all(isinstance(outcome, AgreementError) for outcome in outcomes)
    messages = {str(outcome) for outcome in outcomes}
    assert len(messages) == 1
    # One to meet, and one for each of the two kinds that the message tells of.
    assert ranks.collectives == [3] * len(outcomes)
    return messages.pop()


@pytest.mark.parametrize("header", [b"text,id\n", b"id,texts\n", b"id,text,more\n", b"id\n"])
def test_all_ranks_refuse_a_host_with_another_header(tmp_path: Path, header: bytes) -> None:
    row = b",".join([b"1"] * len(header.split(b","))) + b"\n"
    hosts = [
        _host(tmp_path / "0", {"a.csv": b"id,text\n1,one\n"}),
        _host(tmp_path / "1", {}),
        _host(tmp_path / "2", {"b.csv": header + row}),
    ]
    message = _refusal(Ranks(hosts))
    names = header.decode().strip().replace(",", ", ")
    assert message.startswith(
        "The hosts hold shards of different kinds: a.csv on host 0 is csv with the columns id,"
        f" text; b.csv on host 2 is csv with the columns {names}. All shards of a channel need one"
    )


def test_all_ranks_refuse_a_host_with_another_parquet_schema(tmp_path: Path) -> None:
    numbers, texts = pa.array([1, 2]), pa.array(["1", "2"])
    hosts = [
        _host(tmp_path / "0", {"a.parquet": _parquet({"id": numbers, "text": texts})}),
        _host(tmp_path / "1", {"b.parquet": _parquet({"id": texts, "text": texts})}),
    ]
    message = _refusal(Ranks(hosts))
    assert "a.parquet on host 0 is parquet with the columns id: int64, text: string;" in message
    assert "b.parquet on host 1 is parquet with the columns id: string, text: string." in message


def test_hosts_may_differ_in_columns_nobody_chose(tmp_path: Path) -> None:
    numbers, texts = pa.array([1, 2]), pa.array(["1", "2"])
    hosts = [
        _host(tmp_path / "0", {"a.parquet": _parquet({"n": numbers, "text": texts})}, ("text",)),
        _host(tmp_path / "1", {"b.parquet": _parquet({"n": texts, "text": texts})}, ("text",)),
    ]
    plan = EpochPlan(counts=(1, 1, 1, 1), batch_size=4)
    assert Ranks(hosts).agree() == [plan] * 4


def test_all_ranks_refuse_a_host_with_another_format(tmp_path: Path) -> None:
    hosts = [
        _host(tmp_path / "0", {}),
        _host(tmp_path / "1", {"a.jsonl": numbered(3)}),
        _host(tmp_path / "2", {"b.txt": b"one\ntwo\n"}),
    ]
    message = _refusal(Ranks(hosts))
    assert "a.jsonl on host 1 is json_lines; b.txt on host 2 is lines." in message


def test_hosts_without_shards_fit_any_other(tmp_path: Path) -> None:
    hosts = [_host(tmp_path / "0", {}), _host(tmp_path / "1", {"a.csv": b"id\n1\n2\n3\n"})]
    plan = EpochPlan(counts=(0, 0, 1, 2), batch_size=4)
    assert Ranks(hosts).agree() == [plan] * 4
