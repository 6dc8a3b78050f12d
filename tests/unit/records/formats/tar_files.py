"""Tar archives as the tests write them."""

import io
import tarfile
from collections.abc import Sequence


def archive(
    members: Sequence[tuple[str, bytes] | tarfile.TarInfo],
    kind: int = tarfile.USTAR_FORMAT,
    mtime: float = 0,
) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=kind) as tar:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                tar.addfile(member)
                continue
            info = tarfile.TarInfo(member[0])
            info.size = len(member[1])
            info.mtime = mtime
            tar.addfile(info, io.BytesIO(member[1]))
    return written.getvalue()


def special(name: str, kind: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = "elsewhere"
    return info


def pairs(first: int, count: int, size: int = 700) -> list[tuple[str, bytes]]:
    """Return the members of samples whose contents tell which they are."""
    return [
        member
        for n in range(first, first + count)
        for member in ((f"{n:04}.bin", b"%04d" % n * (size // 4)), (f"{n:04}.cls", b"%d" % n))
    ]
