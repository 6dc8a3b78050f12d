"""What Preflight says of data sets."""

import json
import tracemalloc
from collections.abc import Iterator

import pytest

from tests.unit.shards.data_sets import TEST, VALIDATION, event, lister, shards
from training.shards.listing import StoredObject
from training.shards.preflight import OUTPUT_TYPES, preflight
from training.shards.request import PreflightError


def refusal(train: dict[str, int], **changes: object) -> str:
    with pytest.raises(PreflightError) as refused:
        preflight(event(**changes), lister(train, VALIDATION, TEST))
    return str(refused.value)


def test_accepts_and_reports() -> None:
    outputs = preflight(event(), lister(shards(3), VALIDATION, TEST))
    assert outputs.pop("data_digest")
    assert outputs == {
        "object_count": 3,
        "total_bytes": 303,
        "objects_without_data": 0,
        "hosts_without_data": 0,
    }


def test_outputs_are_those_of_the_definition() -> None:
    outputs = preflight(event(), lister(shards(3), VALIDATION, TEST))
    python_types = {"String": str, "Integer": int}
    assert {name: type(value) for name, value in outputs.items()} == {
        name: python_types[kind] for name, kind in OUTPUT_TYPES.items()
    }
    json.dumps(outputs)


def test_names_the_hosts_that_would_starve() -> None:
    assert refusal(shards(3), instance_count=4) == (
        "4 hosts but 3 shards under s3://b-1/train/: algo-4 would get no data. Write more shards "
        "(evenshard data --shards 4), set InstanceCount to 3, or allow it with "
        "AllowEmptyHosts=true."
    )


def test_counts_the_hosts_it_does_not_name() -> None:
    assert "algo-2, algo-3, algo-4, algo-5, algo-6 and 4 more would" in refusal(
        shards(1), instance_count=10
    )


def test_lets_hosts_starve_when_asked(caplog: pytest.LogCaptureFixture) -> None:
    outputs = preflight(
        event(instance_count=4, allow_empty_hosts="true"), lister(shards(3), VALIDATION, TEST)
    )
    assert outputs["hosts_without_data"] == 1
    assert "Allowed by AllowEmptyHosts=true: 4 hosts but 3 shards" in caplog.text


def test_refuses_a_prefix_without_objects_even_when_hosts_may_starve() -> None:
    for allow in ("true", "false"):
        assert refusal({}, allow_empty_hosts=allow) == (
            "No shards under s3://b-1/train/. Write some (evenshard data) or set TrainDataUri."
        )


def test_refuses_a_prefix_with_markers_only() -> None:
    message = refusal({"train/": 0, "train/_SUCCESS": 0, "train/.part-0.crc": 8})
    assert "No shards under s3://b-1/train/, only 3 objects without data" in message
    assert "(train/, .part-0.crc, _SUCCESS)" in message


def test_a_marker_can_starve_a_host() -> None:
    # Sorted: the marker goes to algo-1, the only shard to algo-2.
    message = refusal({"train/": 0, **shards(1)})
    assert "2 hosts but 1 shard and 1 object without data (train/)" in message
    assert "algo-1 would get no data" in message
    assert "(aws s3 rm 's3://b-1/train/')" in message


def test_enough_shards_can_still_starve_a_host() -> None:
    # Dealt out in turn, algo-1 gets both markers.
    train = {"train/a": 0, "train/b.jsonl": 5, "train/c": 0, "train/d.jsonl": 5}
    message = refusal(train)
    assert "2 hosts and 2 shards and 2 objects without data (a, c)" in message
    assert "but algo-1 would get no data" in message
    assert preflight(event(allow_empty_hosts="true"), lister(train, VALIDATION, TEST))


def test_objects_in_hidden_folders_carry_no_data() -> None:
    message = refusal({"train/.ipynb_checkpoints/a.jsonl": 5, **shards(1)})
    assert "1 shard and 1 object without data (.ipynb_checkpoints/a.jsonl)" in message


def test_warns_of_a_marker_that_starves_nobody(caplog: pytest.LogCaptureFixture) -> None:
    outputs = preflight(event(), lister({"train/": 0, **shards(4)}, VALIDATION, TEST))
    assert (outputs["object_count"], outputs["objects_without_data"]) == (5, 1)
    assert "s3://b-1/train/ holds 1 object without data (train/)" in caplog.text
    assert "Delete" in caplog.text


@pytest.mark.parametrize(
    ("leftover", "only"),
    [
        ({}, ""),
        ({"validation/": 0}, ", only 1 object without data (validation/)"),
        (
            {"validation/a.jsonl": 0, "validation/.b": 9},
            ", only 2 objects without data (.b, a.jsonl)",
        ),
    ],
)
def test_refuses_a_validation_prefix_without_data(leftover: dict[str, int], only: str) -> None:
    with pytest.raises(PreflightError) as refused:
        preflight(event(), lister(shards(2), leftover, TEST))
    assert str(refused.value) == (
        f"No data under s3://b-1/validation/{only}. "
        "Write some (evenshard data) or set ValidationDataUri."
    )


def test_names_the_empty_objects_among_test_data(caplog: pytest.LogCaptureFixture) -> None:
    preflight(event(), lister(shards(2), VALIDATION, TEST, {"test/part-1.jsonl": 0}))
    [message] = caplog.messages
    assert message.startswith("s3://b-1/test/ holds 1 object without data (part-1.jsonl). They are")
    assert "aws s3 rm 's3://b-1/test/part-1.jsonl'" in message


def test_where_the_format_is_named_any_name_will_do() -> None:
    stored = lister({"train/a": 5, "train/b": 5}, {"validation/a": 5}, {"test/a": 5})
    assert preflight(event(data_format="json_lines"), stored)["object_count"] == 2
    with pytest.raises(PreflightError, match="only files whose names end in"):
        preflight(event(), stored)


def test_shards_of_several_formats_are_refused_by_name() -> None:
    message = refusal({"train/a.jsonl": 5, "train/b.parquet": 5, "train/c.jsonl": 5})
    assert message.startswith(
        "Below s3://b-1/train/: a.jsonl, c.jsonl (json_lines); b.parquet (parquet): the shards of a"
    )


@pytest.mark.parametrize("split", ["train", "validation", "test"])
@pytest.mark.parametrize("name", ["part.json", "table.csv", "_metadata", "deep/er/notes.txt"])
def test_refuses_files_that_no_trainer_reads(split: str, name: str) -> None:
    stored = lister(shards(2), VALIDATION, TEST, {f"{split}/{name}": 5})
    with pytest.raises(PreflightError) as refused:
        preflight(event(allow_empty_hosts="true"), stored)
    assert str(refused.value).startswith(
        f"{name} below s3://b-1/{split}/: only files whose names end in .jsonl"
    )


def test_counts_the_files_it_does_not_name() -> None:
    assert "0.csv, 1.csv, 2.csv, 3.csv, 4.csv and 3 more below s3://b-1/train/: only" in refusal(
        {f"train/{number}.csv": 5 for number in range(8)}
    )


def test_a_task_decides_on_the_formats() -> None:
    images = {f"{split}/0.tar": 5 for split in ("train", "validation", "test")}
    assert preflight(event(instance_count=1, task="image"), lister(images))["object_count"] == 1
    assert refusal({"train/a.csv": 5}, task="image").startswith(
        "a.csv below s3://b-1/train/: only files whose names end in .tar can be read."
    )
    tables = {f"{split}/0.csv": 5 for split in ("train", "validation", "test")}
    own = event(instance_count=1, task="training.houses:Houses")
    assert preflight(own, lister(tables))["object_count"] == 1


def test_a_script_reads_files_of_any_name_but_evaluate_does_not() -> None:
    train = {f"train/{number}.csv": 5 for number in range(2)}
    validation = {"validation/a.csv": 5}
    stored = lister(train, validation, TEST)
    assert preflight(event(program="training/mine.py"), stored)["object_count"] == 2
    with pytest.raises(PreflightError, match=r"^a\.csv below s3://b-1/test/: only"):
        preflight(event(program="training/mine.py"), lister(train, validation, {"test/a.csv": 5}))


def test_says_everything_at_once() -> None:
    with pytest.raises(PreflightError) as refused:
        preflight(event(instance_count=3), lister(shards(2)))
    for said in ("algo-3 would", "under s3://b-1/validation/", "under s3://b-1/test/"):
        assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_digest_follows_names_sizes_and_etags_only() -> None:
    def digest(train: dict[str, int], etag: str = "", **changes: object) -> object:
        listed = lister(train, VALIDATION, TEST, etag=etag)
        return preflight(event(**changes), listed)["data_digest"]

    original = digest(shards(2))
    assert original == digest(shards(2))
    assert original == digest(dict(reversed(shards(2).items())), instance_count=1)
    moved = {key.replace("train/", "copy/"): size for key, size in shards(2).items()}
    assert original == digest(moved, train_data_uri="s3://b-1/copy/")
    assert original != digest(shards(2), etag="0f")
    assert original != digest(shards(3))
    assert original != digest({**shards(2), "train/part-00000.jsonl": 1})


def test_a_hundred_thousand_keys_fit_into_little_memory() -> None:
    def list_objects(_bucket: str, prefix: str) -> Iterator[StoredObject]:
        count = 100_000 if prefix == "train/" else 1
        for number in range(count):
            yield StoredObject(f"{prefix}part-{number:06}.jsonl", 1000, f"{number:032x}")

    tracemalloc.start()
    try:
        outputs = preflight(event(instance_count=16), list_objects)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert outputs["object_count"] == 100_000
    assert peak_bytes < 40 * 2**20
