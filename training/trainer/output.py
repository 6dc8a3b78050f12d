"""Whether the results can be written, known before hours of training, and said in plain words."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from training.contract.errors import ContractError

_PROBE: Final = ".writable"


class OutputError(ContractError):
    """A folder of results cannot be written to."""


def check_output_folder(folder: Path, *, what: str = "model") -> None:
    """Write a small file into a folder of results, and take it away again.

    Raises:
        OutputError: that is not possible.
    """
    with explained(folder, what=what):
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / _PROBE
        probe.write_bytes(b"evenshard")
        probe.unlink()


@contextmanager
def explained(folder: Path, *kinds: type[Exception], what: str = "model") -> Iterator[None]:
    """Write into a folder inside; if that fails, say what to do.

    Args:
        folder: of results.
        kinds: what a framework raises of its own when it cannot write, beside OSError.
        what: is written.

    Raises:
        OutputError: with the reason as the operating system has it.
    """
    caught: tuple[type[Exception], ...] = (OSError, *kinds)
    try:
        yield
    except caught as error:
        raise OutputError(
            f"The {what} cannot be written to {folder}: {error}. It must be a folder that the "
            "container's user may write to, on a disk with room for it: mount it writable, or give "
            "the job a larger volume."
        ) from error
