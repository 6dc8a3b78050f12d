"""What Preflight refuses, and how it says so."""

import dataclasses
import json
import logging
import tracemalloc
from collections.abc import Iterable, Iterator
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from training.contract.hyperparameters import TrainingHyperparameters
from training.shards import preflight as module
from training.shards.listing import StoredObject
from training.shards.preflight import OUTPUT_TYPES, ListObjects, preflight
from training.shards.request import HYPERPARAMETERS, PreflightError

VALIDATION = {"validation/part-0.jsonl": 7}
TEST = {"test/part-0.jsonl": 9}


def shards(count: int) -> dict[str, int]:
    return {f"train/part-{number:05}.jsonl": 100 + number for number in range(count)}


def event(**changes: object) -> dict[str, Any]:
    return {
        "train_data_uri": "s3://b-1/train/",
        "validation_data_uri": "s3://b-1/validation/",
        "test_data_uri": "s3://b-1/test/",
        "instance_count": 2,
        "allow_empty_hosts": "false",
        "epochs": 3,
        "batch_size": 32,
        "learning_rate": 0.005,
        "seed": 0,
        "quality_threshold": 0.95,
        **changes,
    }


def lister(*folders: dict[str, int], etag: str = "") -> ListObjects:
    """List keys and sizes of one bucket, in an order that is not sorted."""
    stored = {key: size for folder in folders for key, size in folder.items()}

    def list_objects(bucket: str, prefix: str) -> Iterable[StoredObject]:
        assert bucket == "b-1"
        return [
            StoredObject(key, size, etag)
            for key, size in reversed(stored.items())
            if key.startswith(prefix)
        ]

    return list_objects


def list_nothing(_bucket: str, _prefix: str) -> Iterator[StoredObject]:
    pytest.fail("listed")


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


def test_refuses_uris_before_it_lists() -> None:
    with pytest.raises(PreflightError) as refused:
        preflight(event(train_data_uri="s3://b-1/train", test_data_uri="test"), list_nothing)
    assert "TrainDataUri is 's3://b-1/train': it must end with a slash" in str(refused.value)
    assert "TestDataUri is 'test': it must be an S3 folder" in str(refused.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"instance_count": 0}, "InstanceCount is 0. Allowed: a whole number, 1 or more."),
        ({"instance_count": "two"}, "InstanceCount is 'two'."),
        ({"instance_count": None}, "InstanceCount is None."),
        ({"allow_empty_hosts": "maybe"}, "AllowEmptyHosts is 'maybe'. Allowed: true, false."),
        ({"train_data_uri": "s3://b-1/validation/"}, "overlap: the model would be judged on"),
        ({"validation_data_uri": "s3://b-1/train/sub/"}, "overlap"),
        ({"test_data_uri": "s3://b-1/train/"}, "TrainDataUri s3://b-1/train/ and TestDataUri"),
        (
            {"test_data_uri": "s3://b-1/validation/"},
            "ValidationDataUri s3://b-1/validation/ and TestDataUri s3://b-1/validation/ overlap",
        ),
        ({"test_data_uri": "s3://b-1/validation/sub/"}, "overlap"),
        ({"epochs": 0}, "Epochs: Hyperparameter epochs is '0'. Allowed: an integer >= 1"),
        ({"batch_size": 0}, "BatchSize: Hyperparameter batch_size is '0'. Allowed: an integer >="),
        ({"batch_size": 1.5}, "BatchSize: "),
        ({"learning_rate": -1}, "LearningRate: Hyperparameter learning_rate is '-1'. Allowed: a"),
        ({"learning_rate": 0}, "LearningRate: "),
        ({"learning_rate": float("inf")}, "LearningRate: "),
        ({"seed": -1}, "Seed: Hyperparameter seed is '-1'. Allowed: an integer >= 0"),
        ({"seed": None}, "Seed: "),
        ({"quality_threshold": 2}, "QualityThreshold is 2. Allowed: a number >= 0 and <= 1; 0.95"),
        ({"quality_threshold": -0.1}, "QualityThreshold is -0.1."),
        ({"quality_threshold": "high"}, "QualityThreshold is 'high'."),
        ({"quality_threshold": float("nan")}, "QualityThreshold is nan."),
    ],
)
def test_refuses_arguments_before_it_lists(changes: dict[str, object], said: str) -> None:
    with pytest.raises(PreflightError) as refused:
        preflight(event(**changes), list_nothing)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"epochs": 1, "batch_size": 1, "learning_rate": 1e-05, "seed": 0},
        {"epochs": "7", "learning_rate": "1.0E-5", "seed": 2**31},
        {"quality_threshold": 0},
        {"quality_threshold": 1.0},
    ],
)
def test_takes_every_number_that_the_trainer_takes(changes: dict[str, object]) -> None:
    assert preflight(event(**changes), lister(shards(2), VALIDATION, TEST))


def test_checks_hyperparameters_that_the_trainer_knows() -> None:
    known = {field.name for field in dataclasses.fields(TrainingHyperparameters)}
    assert set(HYPERPARAMETERS) <= known


def test_says_every_wrong_argument_at_once() -> None:
    wrong = {"train_data_uri": "train", "epochs": 0, "seed": -1, "quality_threshold": 95}
    with pytest.raises(PreflightError) as refused:
        preflight(event(**wrong), list_nothing)
    for said in ("TrainDataUri is", "Epochs: ", "Seed: ", "QualityThreshold is 95."):
        assert said in str(refused.value)


def test_takes_the_count_as_text() -> None:
    objects = lister(shards(3), VALIDATION, TEST)
    assert preflight(event(instance_count="3"), objects)["hosts_without_data"] == 0


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


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stubber]:
    """What S3 answers to the handler, in order."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "stubbed")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "stubbed")
    client = boto3.client("s3", region_name="eu-west-1")
    monkeypatch.setattr(boto3, "client", lambda _service: client)
    with Stubber(client) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


def page(prefix: str, names: list[str], following: str = "") -> dict[str, Any]:
    contents = [{"Key": prefix + name, "Size": 5, "ETag": '"0f"'} for name in names]
    more = {"IsTruncated": True, "NextContinuationToken": following} if following else {}
    return {"Contents": contents, **more}


def test_handler_reads_every_page(s3: Stubber) -> None:
    request = {"Bucket": "b-1", "Prefix": "train/"}
    s3.add_response("list_objects_v2", page("train/", ["a.jsonl"], following="t"), request)
    s3.add_response(
        "list_objects_v2", page("train/", ["b.jsonl"]), {**request, "ContinuationToken": "t"}
    )
    for prefix in ("validation/", "test/"):
        s3.add_response(
            "list_objects_v2", page(prefix, ["a.jsonl"]), {"Bucket": "b-1", "Prefix": prefix}
        )
    outputs = module.handler(event(), None)
    assert (outputs["object_count"], outputs["total_bytes"]) == (2, 10)
    listed = lister({"train/a.jsonl": 5, "train/b.jsonl": 5}, VALIDATION, TEST, etag="0f")
    assert outputs["data_digest"] == preflight(event(), listed)["data_digest"]


def test_handler_logs_its_reason_in_one_line(s3: Stubber, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        s3.add_response("list_objects_v2", {})
    with pytest.raises(PreflightError, match="No shards under"):
        module.handler(event(), None)
    [record] = [found for found in caplog.records if found.levelno == logging.ERROR]
    assert record.getMessage().startswith(
        "Preflight refused the execution: No shards under s3://b-1/"
    )
    assert record.exc_info is None


@pytest.mark.parametrize("code", ["AccessDenied", "NoSuchBucket"])
def test_handler_explains_a_bucket_it_cannot_list(s3: Stubber, code: str) -> None:
    s3.add_client_error("list_objects_v2", service_error_code=code)
    with pytest.raises(PreflightError, match=f"Cannot list s3://b-1/train/: {code}") as refused:
        module.handler(event(), None)
    assert "this deployment's own bucket (output DataBucketName" in str(refused.value)
    assert "infra/access/" in str(refused.value)
