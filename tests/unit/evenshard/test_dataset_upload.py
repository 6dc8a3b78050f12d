from pathlib import Path

import pytest

from evenshard.dataset_upload import upload_dataset
from evenshard.simulator.errors import ServiceError
from tests.unit.simulator.memory_store import MemoryStore
from training.shards.location import Location

LOCATION = Location("bucket", "data/")


class BrokenStore(MemoryStore):
    """Fails at the upload of one object, and from one deletion on."""

    def __init__(self, *, uploads: int, deletions: int, error: BaseException) -> None:
        super().__init__()
        self.uploads = uploads
        self.deletions = deletions
        self.error = error

    def upload(self, file: Path, uri: str, kms_key: str | None = None) -> None:
        super().upload(file, uri, kms_key)  # it got there, and the answer did not get back
        self.uploads -= 1
        if self.uploads < 0:
            raise self.error

    def delete(self, uri: str) -> None:
        self.deletions -= 1
        if self.deletions < 0:
            raise ServiceError(f"Cannot delete {uri}.")
        super().delete(uri)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("train/part-0", "train/part-1", "validation/part-0", "test/part-0"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


def test_a_dataset_has_its_test_set_last(folder: Path) -> None:
    store = MemoryStore()
    upload_dataset(folder, LOCATION, store)
    assert list(store.contents) == [
        "s3://bucket/data/train/part-0",
        "s3://bucket/data/train/part-1",
        "s3://bucket/data/validation/part-0",
        "s3://bucket/data/test/part-0",
    ]
    assert store.read("s3://bucket/data/test/part-0") == b"test/part-0"


@pytest.mark.parametrize("uploads", range(4))
@pytest.mark.parametrize("error", [ServiceError("Cannot upload."), KeyboardInterrupt()])
def test_what_was_written_is_removed(folder: Path, uploads: int, error: BaseException) -> None:
    store = BrokenStore(uploads=uploads, deletions=9, error=error)
    with pytest.raises(type(error)):
        upload_dataset(folder, LOCATION, store)
    assert store.contents == {}


@pytest.mark.parametrize(
    ("error", "words"),
    [(ServiceError("Cannot upload."), "Cannot upload."), (KeyboardInterrupt(), "Interrupted.")],
)
def test_what_cannot_be_removed_is_told(folder: Path, error: BaseException, words: str) -> None:
    store = BrokenStore(uploads=3, deletions=1, error=error)
    with pytest.raises(ServiceError) as told:
        upload_dataset(folder, LOCATION, store)
    assert str(told.value) == (
        f"{words} Removing what was written failed too: up to 3 objects are left. "
        "Remove them: aws s3 rm --recursive s3://bucket/data/"
    )
    # The test set is gone first, so that nothing takes the rest for a dataset.
    assert "s3://bucket/data/test/part-0" not in store.contents
