"""Where the data of a run lies: a folder, mounted as a bucket of its own, or a prefix of S3."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from evenshard.errors import UsageError
from evenshard.simulator.storage.data_store import DataStore
from evenshard.simulator.storage.objects import LocalObjectStore, ObjectStore, object_uri, split_uri
from training.shards.location import Location

DATA_BUCKET: Final = "evenshard-data"
"""The bucket that a folder is mounted as."""
_TRAIN: Final = "TrainDataUri"
_PARAMETERS: Final = {
    _TRAIN: "train",
    "ValidationDataUri": "validation",
    "TestDataUri": "test",
}


class Data(Protocol):
    """The data of a run."""

    @property
    def uri(self) -> str:
        """The S3 folder of train/, validation/ and test/, as the definition sees it."""

    def store(self, own: Path, parameters: Mapping[str, object]) -> ObjectStore:
        """The store of a run.

        Args:
            own: the folder of the buckets that are the run's own.
            parameters: the run's, settled.
        """

    def missing(self, name: str) -> str | None:
        """What to say if there is no object `name` below the data; None if there is one."""

    def place(self) -> str | None:
        """What to say of where it lies; None where its URI says it."""


@dataclass(frozen=True, slots=True)
class DataFolder:
    """Data on this machine."""

    folder: Path

    @property
    def uri(self) -> str:
        """See Data."""
        return f"s3://{DATA_BUCKET}/"

    def store(self, own: Path, parameters: Mapping[str, object]) -> ObjectStore:
        """See Data."""
        del parameters
        return LocalObjectStore(own, {DATA_BUCKET: self.folder})

    def missing(self, name: str) -> str | None:
        """See Data."""
        file = self.folder / name
        return None if file.is_file() else f"there is no file {file}"

    def place(self) -> str | None:
        """See Data."""
        return f"{self.uri} is the folder {self.folder}/ of this machine."


@dataclass(frozen=True, slots=True)
class DataPrefix:
    """Data in S3, which is only read: what the run writes stays on this machine."""

    location: Location
    s3: ObjectStore

    @property
    def uri(self) -> str:
        """See Data."""
        return str(self.location)

    def store(self, own: Path, parameters: Mapping[str, object]) -> ObjectStore:
        """See Data. Parameters may name data of other buckets, which lies in S3 too."""
        buckets = {self.location.bucket, *_buckets(parameters.get(name) for name in _PARAMETERS)}
        return DataStore(LocalObjectStore(own, {}), self.s3, buckets)

    def missing(self, name: str) -> str | None:
        """See Data."""
        uri = f"{self.uri}{name}"
        return None if self.s3.exists(uri) else f"there is no object {uri}"

    def place(self) -> str | None:
        """See Data."""
        return None


def open_data(data: Path | Location) -> Data:
    """Find the data of a run.

    Raises:
        UsageError: there is none.
        ServiceError: S3 cannot be asked.
    """
    if isinstance(data, Location):
        return _open_prefix(data)
    if not data.is_dir():
        raise UsageError(
            f"--data {data} is not a folder. Name one with train/, validation/ and test/, or an "
            "S3 folder, s3://bucket/folder/; `evenshard data DEST` writes either."
        )
    return DataFolder(data)


def _open_prefix(location: Location) -> DataPrefix:
    # Runs on local data need neither the SDK nor the time that its import takes.
    from evenshard.simulator.storage.s3_objects import open_s3  # noqa: PLC0415 - see above

    s3 = open_s3()
    if not s3.holds(str(location)):
        raise UsageError(
            f"--data {location}: there are no objects below it. Name an S3 folder with train/, "
            f"validation/ and test/; `evenshard data {location}` writes one."
        )
    return DataPrefix(location, s3)


def data_parameters(data: Data) -> dict[str, str]:
    """The pipeline parameters that say where the data lies."""
    return {name: f"{data.uri}{folder}/" for name, folder in _PARAMETERS.items()}


def without_data(parameters: Mapping[str, str]) -> dict[str, str]:
    """The parameters of a former run, but for those that its own --data gave it."""
    folder = parameters.get(_TRAIN, "").removesuffix(f"{_PARAMETERS[_TRAIN]}/")
    given = {name: f"{folder}{split}/" for name, split in _PARAMETERS.items()}
    derived = given.items() <= parameters.items()
    return {k: v for k, v in parameters.items() if not (derived and k in _PARAMETERS)}


def corrupt_uri(data: Data, key: str) -> str:
    """The object that --fault corrupt:KEY names: below the data, or an s3:// URI of its own."""
    bucket, prefix = split_uri(data.uri)
    return key if key.startswith("s3://") else object_uri(bucket, f"{prefix}{key}")


def _buckets(uris: Iterable[object]) -> set[str]:
    return {split_uri(uri)[0] for uri in uris if isinstance(uri, str) and uri.startswith("s3://")}
