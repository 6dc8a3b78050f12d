"""Merges what the hosts of a training job leave into model.tar.gz and output.tar.gz."""

import gzip
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """The files of one kind of all hosts."""

    files: Mapping[str, Path]
    """Name in the archive -> file. Of files with one name, the last host's."""
    clashes: Mapping[str, list[str]]
    """Name -> the hosts that wrote it, where there are several."""


def merge(folders: Mapping[str, Path]) -> Merged:
    """Put the files of all hosts together by their names.

    Args:
        folders: host -> its folder; a missing one counts as empty.
    """
    files: dict[str, Path] = {}
    writers: dict[str, list[str]] = {}
    for host, folder in folders.items():
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                name = file.relative_to(folder).as_posix()
                files[name] = file
                writers.setdefault(name, []).append(host)
    clashes = {name: hosts for name, hosts in writers.items() if len(hosts) > 1}
    return Merged(files=files, clashes=clashes)


def pack(files: Mapping[str, Path], archive: Path) -> None:
    """Write a tar.gz. Equal files give equal bytes: no clock, owner or order of the disk in it."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    with (
        archive.open("wb") as raw,
        gzip.GzipFile(fileobj=raw, mode="wb", filename="", compresslevel=1, mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w") as tar,
    ):
        for name in sorted(files):
            entry = tar.gettarinfo(files[name], arcname=name)
            entry.mtime = entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            with files[name].open("rb") as content:
                tar.addfile(entry, content)
