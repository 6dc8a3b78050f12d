"""How ranks that ended because of a stop tell their launcher: a small file. Exit codes cannot.

A rank that stops as agreed exits with 0, as one that is done does; torchrun would take any other
code for a failure.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from training.contract.layout import STOPPED_FILE_VARIABLE, TOLD_FILE_VARIABLE


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """All ranks ended because one of them was told to."""

    told: tuple[str, ...]
    """The hosts whose ranks were told, at least one."""
    step: int
    """Optimizer updates that were done."""
    is_saved: bool
    """Whether a checkpoint of that step was written."""

    def __str__(self) -> str:
        saved = "saved at" if self.is_saved else "nothing saved of"
        return f"{stopped_because(self.told)}; {saved} step {self.step}"


def stopped_because(told: Sequence[str]) -> str:
    """Name the hosts that were told to stop."""
    were = "were" if len(told) > 1 else "was"
    return f"stopped because {' and '.join(told)} {were} told to"


def tell_stop(stop: Stop, environment: Mapping[str, str] | None = None) -> bool:
    """Leave word of a stop for this host's launcher; return whether there is one.

    Args:
        stop: the same on all ranks, so that it does not matter who writes last.
        environment: names the file; this process's own when None.
    """
    variables = os.environ if environment is None else environment
    named = variables.get(STOPPED_FILE_VARIABLE)
    if named is None:
        return False
    file = Path(named)
    unfinished = file.with_name(f"{file.name}.{os.getpid()}")
    unfinished.write_text(json.dumps(asdict(stop)), encoding="utf-8")
    unfinished.replace(file)
    return True


def read_stop(file: Path) -> Stop | None:
    """Read what the ranks of a host left; None: they did not stop."""
    if not file.exists():
        return None
    content = json.loads(file.read_text(encoding="utf-8"))
    return Stop(**{**content, "told": tuple(content["told"])})


def was_told(environment: Mapping[str, str] | None = None) -> bool:
    """Whether the launcher has passed a stop signal on to this rank, which may have missed it.

    Args:
        environment: names the file; this process's own when None. Without a launcher: no.
    """
    named = (os.environ if environment is None else environment).get(TOLD_FILE_VARIABLE)
    return named is not None and Path(named).exists()


def is_stop_of_job(environment: Mapping[str, str] | None = None) -> bool:
    """Whether a SIGTERM that this rank got is a stop of the job.

    What starts the ranks of a host ends them with the same signal when one of them has failed: then
    there is nothing to agree on and nobody to save with.

    Args:
        environment: names the file; this process's own when None. Without a launcher it is a stop.
    """
    named = (os.environ if environment is None else environment).get(TOLD_FILE_VARIABLE)
    return named is None or Path(named).exists()
