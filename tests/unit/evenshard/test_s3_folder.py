from pathlib import Path

import pytest

from evenshard.errors import UsageError
from evenshard.s3_folder import folder_or_s3
from training.shards.location import Location


@pytest.mark.parametrize("text", ["s3://bucket/data/set", "s3://bucket/data/set/"])
def test_the_last_slash_may_be_left_out(text: str) -> None:
    assert folder_or_s3(text, option="--data") == Location("bucket", "data/set/")


@pytest.mark.parametrize("text", ["data", "/data/s3:/x", "./s3:"])
def test_the_rest_are_paths_of_this_machine(text: str) -> None:
    assert folder_or_s3(text, option="--data") == Path(text)


def test_nothing_is_not_taken_for_this_folder() -> None:
    with pytest.raises(UsageError, match="DEST is empty"):
        folder_or_s3("", option="DEST")


@pytest.mark.parametrize("text", ["s3://", "s3://bucket", "s3://Not_A_Bucket/x", "gs://bucket/x"])
def test_what_is_no_folder_of_a_bucket_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"--data is .* Give it as s3://bucket/folder/"):
        folder_or_s3(text, option="--data")
