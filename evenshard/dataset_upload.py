"""Puts a written dataset into S3, in an order that never shows a part of it as the whole.

S3 has no folder to rename, so the last object decides: `test/` is written after everything else,
and Preflight refuses a dataset without it. A marker object would do the same only for those who
look for it, and below train/ SageMaker would deal it out like a shard.
"""

from pathlib import Path
from typing import Final, Protocol

from evenshard.dataset import SPLITS
from evenshard.simulator.errors import ServiceError
from training.shards.location import Location

UPLOAD_ORDER: Final = SPLITS
"""train/, validation/, and test/ last."""


class WritableStore(Protocol):
    """What an upload needs of a store."""

    def upload(self, file: Path, uri: str) -> None:
        """Copy a file into one object."""

    def delete(self, uri: str) -> None:
        """Remove one object; no error if there is none."""


def upload_dataset(folder: Path, location: Location, store: WritableStore) -> None:
    """Copy a dataset below an S3 folder. What was copied is removed again if that fails.

    Args:
        folder: holds train/, validation/ and test/.
        location: an S3 folder without objects.
        store: where that lies.

    Raises:
        ServiceError: S3 refused; it says so if anything is left there.
    """
    begun: list[str] = []
    try:
        for split in UPLOAD_ORDER:
            for file in sorted((folder / split).iterdir()):
                uri = f"{location}{split}/{file.name}"
                begun.append(uri)  # before: an answer may get lost on its way back
                store.upload(file, uri)
    except BaseException as error:
        _take_back(begun, location, store, error)
        raise


def _take_back(
    begun: list[str], location: Location, store: WritableStore, cause: BaseException
) -> None:
    """Remove objects, the last one first: without it the rest is no dataset."""
    while begun:
        try:
            store.delete(begun[-1])
        except ServiceError as error:
            raise ServiceError(
                f"{str(cause) or 'Interrupted.'} Removing what was written failed too: up to "
                f"{len(begun)} objects are left. Remove them: aws s3 rm --recursive {location}"
            ) from error
        begun.pop()
