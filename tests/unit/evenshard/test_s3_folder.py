import pytest

from evenshard.errors import UsageError
from evenshard.s3_folder import s3_folder
from training.shards.location import Location


@pytest.mark.parametrize("text", ["s3://bucket/data/set", "s3://bucket/data/set/"])
def test_the_last_slash_may_be_left_out(text: str) -> None:
    assert s3_folder(text, option="--data") == Location("bucket", "data/set/")


@pytest.mark.parametrize("text", ["data", "/data/s3:/x", "./s3:"])
def test_a_path_is_none(text: str) -> None:
    assert s3_folder(text, option="--data") is None


@pytest.mark.parametrize("text", ["s3://", "s3://bucket", "s3://Not_A_Bucket/x", "gs://bucket/x"])
def test_what_is_no_folder_of_a_bucket_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"--data is .* Give it as s3://bucket/folder/"):
        s3_folder(text, option="--data")
