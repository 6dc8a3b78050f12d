"""What a shard may be called."""

import pytest

from training.contract.shard_names import NameKind, endings_of_task, kind_of, listed, refusal


@pytest.mark.parametrize(
    ("name", "size_bytes", "kind"),
    [
        ("a.jsonl", 1, NameKind.SHARD),
        ("deep/er/a.jsonl", 1, NameKind.SHARD),
        ("a.parquet", 1, NameKind.SHARD),
        ("A.JSONL.GZ", 1, NameKind.SHARD),
        ("a.jsonl", 0, NameKind.EMPTY),
        ("_SUCCESS", 0, NameKind.EMPTY),
        ("folder/", 0, NameKind.EMPTY),
        (".a.jsonl", 1, NameKind.HIDDEN),
        (".ipynb_checkpoints/a.jsonl", 1, NameKind.HIDDEN),
        ("deep/.a.crc", 0, NameKind.HIDDEN),
        ("part.json", 1, NameKind.OTHER),
        ("a.csv", 1, NameKind.OTHER),
        ("a.txt", 1, NameKind.OTHER),
        ("a.tar", 1, NameKind.OTHER),
        ("_metadata", 1, NameKind.OTHER),
        ("folder.jsonl/", 1, NameKind.OTHER),
        ("a.jsonl.bak", 1, NameKind.OTHER),
        ("jsonl", 1, NameKind.OTHER),
    ],
)
def test_kinds(name: str, size_bytes: int, kind: NameKind) -> None:
    assert kind_of(name, size_bytes) is kind


def test_tasks_read_different_formats() -> None:
    assert endings_of_task("image") == (".tar",)
    assert kind_of("a.tar", 1, "image") is NameKind.SHARD
    assert kind_of("a.jsonl", 1, "image") is NameKind.OTHER
    for name in ("a.csv", "a.tar", "a.jsonl", "a.txt.zst"):
        assert kind_of(name, 1, "training.own:Task") is NameKind.SHARD
    assert kind_of("a.json", 1, "training.own:Task") is NameKind.OTHER


def test_a_refusal_names_files_place_and_every_allowed_ending() -> None:
    said = refusal(["a.csv", "_metadata"], "s3://b/train/")
    assert said.startswith("a.csv, _metadata below s3://b/train/: only files whose names end in ")
    assert all(ending in said for ending in endings_of_task())
    assert said.endswith("Convert, rename or remove the others.")


def test_names_a_few_and_counts_the_rest() -> None:
    assert listed(["a", "b"]) == "a, b"
    assert listed([*"abcde"]) == "a, b, c, d, e"
    assert listed([*"abcdefg"]) == "a, b, c, d, e and 2 more"
