"""What a data URI may look like."""

import pytest

from training.shards.location import Location


def test_reads_bucket_and_prefix() -> None:
    location = Location.parse("s3://a-bucket/data/train/", parameter="TrainDataUri")
    assert location == Location("a-bucket", "data/train/")
    assert str(location) == "s3://a-bucket/data/train/"


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("", "must be an S3 folder"),
        ("train", "must be an S3 folder"),
        ("/data/train/", "must be an S3 folder"),
        ("https://a-bucket.s3.amazonaws.com/train/", "must be an S3 folder"),
        ("s3:///train/", "must be an S3 folder"),
        ("s3://Bucket/train/", "must be an S3 folder"),
        ("s3://a-bucket", "a whole bucket"),
        ("s3://a-bucket/", "a whole bucket"),
        ("s3://a-bucket/train", "would read s3://a-bucket/train-old/ as well"),
    ],
)
def test_refuses_what_is_no_folder(uri: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as refusal:
        Location.parse(uri, parameter="TestDataUri")
    assert str(refusal.value).startswith(f"TestDataUri is {uri!r}")
    assert "Give " in str(refusal.value)


def test_knows_what_it_contains() -> None:
    data = Location("b", "data/")
    assert data.contains(Location("b", "data/train/"))
    assert data.contains(data)
    assert not data.contains(Location("b", "database/"))
    assert not data.contains(Location("other", "data/train/"))


def test_names_its_own_marker() -> None:
    train = Location("b", "data/train/")
    assert train.name_of("data/train/a/b.jsonl") == "a/b.jsonl"
    assert train.name_of("data/train/") == "train/"
