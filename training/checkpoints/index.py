"""What a checkpoint consists of, on disk.

    step-000000030/rank-00000.pt     written by rank 0, with the model
    step-000000030/rank-00001.pt     written by rank 1
    step-000000030/index.json        written last, by rank 0: sizes and checksums of the others

SageMaker copies single files to and from S3, in any order and at any moment. Only an index whose
files all have the size and the checksum it tells is a checkpoint; anything else is ignored.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

INDEX_FILE: Final = "index.json"
VERSION: Final = 1
_FOLDER: Final = re.compile(r"step-([0-9]{9,})")


class OtherReleaseError(ValueError):
    """An index is whole, and another release of this code wrote it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFile:
    """A file of a checkpoint as its writer left it."""

    name: str
    size_bytes: int
    sha256: str

    @classmethod
    def of(cls, path: Path) -> "WrittenFile":
        """Measure a file."""
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256")
        return cls(name=path.name, size_bytes=path.stat().st_size, sha256=digest.hexdigest())

    def problem(self, folder: Path) -> str | None:
        """What is wrong with the file as it lies in a folder now; None: nothing."""
        path = folder / self.name
        try:
            size_bytes = path.stat().st_size
            if size_bytes != self.size_bytes:
                return f"{self.name} has {size_bytes} bytes, not {self.size_bytes}"
            if WrittenFile.of(path).sha256 != self.sha256:
                return f"{self.name} has another checksum than it was written with"
        except OSError as error:
            return f"{self.name}: {error.strerror}"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointIndex:
    """A checkpoint: its files, and what is small enough to stand beside their names."""

    step: int
    """Optimizer updates before it, over all epochs."""
    framework: str
    identity: Mapping[str, Any]
    """The hyperparameters that weights and order of records depend on."""
    progress: Mapping[str, Any]
    """How far the job has come; equal on all ranks."""
    ranks: Sequence[Mapping[str, Any]]
    """What each rank had to say for itself, in rank order: the state of its data, for instance."""
    files: Sequence[WrittenFile]

    def write(self, folder: Path) -> None:
        """Write the index into the folder of the checkpoint.

        In place: a reader never takes half a JSON document for a whole one, and a copy service
        would copy a temporary file too.
        """
        text = json.dumps({"version": VERSION, **asdict(self)}, indent=1)
        (folder / INDEX_FILE).write_text(text + "\n", encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> "CheckpointIndex":
        """Read the index of a checkpoint's folder.

        Raises:
            OSError: there is none.
            OtherReleaseError: it is of another release of this code.
            ValueError: it is torn.
        """
        content = json.loads((folder / INDEX_FILE).read_text(encoding="utf-8"))
        version = content.pop("version", None) if isinstance(content, dict) else None
        if version is None:
            raise ValueError(f"{INDEX_FILE} has no version")
        if version != VERSION:
            raise OtherReleaseError(
                f"{INDEX_FILE} has version {version!r}, this code reads {VERSION}"
            )
        try:
            return cls(**{**content, "files": [WrittenFile(**f) for f in content["files"]]})
        except (KeyError, TypeError) as error:
            raise ValueError(f"{INDEX_FILE} is not whole ({error})") from None


def step_folder(root: Path, step: int) -> Path:
    """The folder of the checkpoint of a step."""
    return root / f"step-{step:09}"


def saved_steps(root: Path) -> list[int]:
    """The steps of which there is a folder, complete or not; the newest first."""
    names = (_FOLDER.fullmatch(path.name) for path in root.glob("step-*") if path.is_dir())
    return sorted((int(name.group(1)) for name in names if name), reverse=True)
