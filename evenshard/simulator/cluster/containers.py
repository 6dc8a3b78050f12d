"""What every container gets, whatever its job: a command and an environment."""

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from evenshard.simulator.cluster.hosts import LOG_FILE
from evenshard.simulator.errors import DefinitionError
from evenshard.simulator.processes import clean_environment
from training.contract.layout import (
    BASE_DIR_VARIABLE,
    DEFAULT_BASE_DIR,
    DEVICES_PER_HOST_VARIABLE,
    ENTRYPOINT_WRAPPER,
)

_MODULE: Final = re.compile(r"training(\.[A-Za-z_][A-Za-z0-9_]*)+")
_PYTHONS: Final = ("python", "python3")
HOST_GROUP: Final = "homogeneousCluster"


def container_command(specification: Mapping[str, Any], path: str) -> list[str]:
    """The command of a container, run by this very Python from the repository's root.

    Args:
        specification: holds ContainerEntrypoint and perhaps ContainerArguments.
        path: of the specification, for the message.

    Raises:
        DefinitionError: the command is not a module of `training`. Images are not run here, so
            nothing else can be.
    """
    given: Sequence[str] = specification["ContainerEntrypoint"]
    words = list(given[1:] if given[:1] == [ENTRYPOINT_WRAPPER] else given)
    is_python = len(words) >= 3 and words[0] in _PYTHONS and words[1] == "-m"  # noqa: PLR2004 - python -m MODULE
    if not is_python or not _MODULE.fullmatch(words[2]):
        raise DefinitionError(
            f"{path}.ContainerEntrypoint",
            f"{' '.join(given) or 'nothing'} cannot be simulated, for no image runs here. Use "
            f"[{ENTRYPOINT_WRAPPER},] python3 -m training.<module> [arguments].",
        )
    return [sys.executable, *words[1:], *specification.get("ContainerArguments", [])]


def container_environment(
    base_dir: Path, job: Mapping[str, str], devices_per_host: int
) -> dict[str, str]:
    """The variables of a container.

    Args:
        base_dir: the host's /opt/ml.
        job: the job's own Environment, its names and its region.
        devices_per_host: how many training processes a host runs.
    """
    return {
        **clean_environment(),
        **job,
        BASE_DIR_VARIABLE: str(base_dir),
        DEVICES_PER_HOST_VARIABLE: str(devices_per_host),
        # Simulated devices are processes on the CPU, also where there is a GPU.
        "CUDA_VISIBLE_DEVICES": "",
    }


def as_in_container(text: str, base_dir: Path) -> str:
    """A host's words as its container would say them: `/opt/ml/...` for the paths of its files.

    Args:
        text: what it printed or wrote.
        base_dir: the host's /opt/ml.
    """
    # algo-10's folder starts with the name of algo-1's.
    return re.sub(rf"{re.escape(str(base_dir))}(?![\w-])", DEFAULT_BASE_DIR, text)


def failure_text(base_dir: Path, file: Path, most_characters: int) -> str:
    """Why a host failed: its own words, else the end of its log.

    Args:
        base_dir: the host's /opt/ml.
        file: where the container says it, output/failure or output/message.
        most_characters: that SageMaker reads of it.
    """
    if file.is_file():
        words = as_in_container(file.read_text(encoding="utf-8", errors="replace"), base_dir)
        words = words[:most_characters].strip()
        if words:
            return words
    log = base_dir / LOG_FILE
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n") if log.is_file() else []
    said = [line.strip() for line in lines if line.strip()]
    last = as_in_container(said[-1], base_dir) if said else "(nothing)"
    return f"no reason given; the last line of {base_dir.name}'s {LOG_FILE} is: {last}"
