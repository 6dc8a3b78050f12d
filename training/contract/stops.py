"""How ranks that ended because of a stop tell their launcher: a small file. Exit codes cannot.

A rank that stops as agreed exits with 0, as one that is done does; torchrun would take any other
code for a failure.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from training.contract.layout import STOPPED_FILE_VARIABLE


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
        who = " and ".join(self.told)
        were = "were" if len(self.told) > 1 else "was"
        saved = "saved at" if self.is_saved else "nothing saved of"
        return f"stopped because {who} {were} told to; {saved} step {self.step}"


def tell_stop(stop: Stop, environment: Mapping[str, str] | None = None) -> None:
    """Leave word of a stop for this host's launcher; without one, nobody is told.

    Args:
        stop: the same on all ranks, so that it does not matter who writes last.
        environment: names the file; this process's own when None.
    """
    variables = os.environ if environment is None else environment
    named = variables.get(STOPPED_FILE_VARIABLE)
    if named is not None:
        file = Path(named)
        unfinished = file.with_name(f"{file.name}.{os.getpid()}")
        unfinished.write_text(json.dumps(asdict(stop)), encoding="utf-8")
        unfinished.replace(file)


def read_stop(file: Path) -> Stop | None:
    """Read what the ranks of a host left; None: they did not stop."""
    if not file.exists():
        return None
    content = json.loads(file.read_text(encoding="utf-8"))
    return Stop(**{**content, "told": tuple(content["told"])})
