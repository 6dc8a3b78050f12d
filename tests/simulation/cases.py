"""Many trainings with hyperparameters of their own, one after the other in one group of ranks."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from safetensors.torch import load_file
from torch import Tensor

from tests.simulation.launched import RUN_LIMIT_S, Host, Job, launch

Values = Mapping[str, str]
"""Hyperparameters."""
Shards = Mapping[str, str | bytes]
"""Content by name; the name begins with the task's."""

SMALL_IMAGES: Final[Values] = {"task": "image", "image_size": "8", "image_colors": "grey"}
"""The digits of `tests.digits`."""


@dataclass(frozen=True)
class Case:
    """What became of one training."""

    weights: dict[str, Tensor]
    numbers: dict[str, Any]


def run_cases(
    folder: Path,
    cases: Mapping[str, Values],
    train: Sequence[Shards],
    validation: Shards,
    *,
    devices_per_host: int = 2,
    limit_s: float = RUN_LIMIT_S,
) -> dict[str, Case]:
    """Train each case.

    Args:
        folder: where the hosts' folders are made.
        cases: hyperparameters by name.
        train: of each host.
        validation: of all hosts.
        devices_per_host: ranks of each host.
        limit_s: for all cases together; what takes longer hangs.
    """
    job = Job(
        folder=folder,
        shards=train,
        validation=validation,
        hyperparameters={
            "program": "tests/simulation/programs/parallelisms.py",
            "cases": json.dumps({name: dict(values) for name, values in cases.items()}),
        },
        devices_per_host=devices_per_host,
    )
    done = launch(job, limit_s)
    assert {host.exit_code for host in done} == {0}, [host.log for host in done]
    # One that is left could meet an interpreter that is half gone, and abort a rank that succeeded.
    for host in done:
        assert host.gloo_threads("left") == [[]] * devices_per_host
    return {name: _read_case(done[0], name) for name in cases}


def _read_case(host: Host, name: str) -> Case:
    found = json.loads((host.base_dir / "model" / "found.json").read_text())
    return Case(weights=load_file(host.base_dir / "model" / name), numbers=found[name])
