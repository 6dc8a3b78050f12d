"""Files that get their names when they are whole: nothing half-written is taken for an object."""

import errno
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from evenshard.simulator.errors import ServiceError

_PREFIX: Final = ".evenshard-unfinished-"
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NOT_A_FOLDER: Final = (errno.EEXIST, errno.ENOTDIR, errno.EISDIR)


def is_unfinished(name: str) -> bool:
    """Whether a file name is that of one whose writer was killed."""
    return name.startswith(_PREFIX)


@contextmanager
def written_whole(file: Path, uri: str) -> Iterator[Path]:
    """Give a file to write into, beside `file`; it becomes `file` if nothing goes wrong.

    Args:
        file: what is to exist in the end; its folder is made if missing.
        uri: the object whose content it gets, for messages.

    Raises:
        ServiceError: the disk is full, or the file's place is taken or closed to us.
    """
    unfinished = file.with_name(f"{_PREFIX}{secrets.token_hex(8)}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        yield unfinished
        unfinished.replace(file)
    except FileNotFoundError:
        raise  # what was to be copied is gone: nothing is wrong with the file that is written
    except OSError as error:
        raise ServiceError(
            f"Cannot write {uri} to {file}: {error.strerror or error}. {_advice(error)}"
        ) from error
    finally:
        with suppress(OSError):  # it never came to be, or has its name by now
            unfinished.unlink()


def _advice(error: OSError) -> str:
    if error.errno in _NO_ROOM:
        return "Free disk space there: every host has its own copy of what it reads."
    if error.errno in _NOT_A_FOLDER:
        return (
            "One object has the name of the folder of another, which S3 allows and no file system "
            "does: rename or delete one."
        )
    return "Run this command in a folder that you may write to."
