"""Trainings that something happens to at an exact moment, and others that go on with them."""

import re
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from safetensors.torch import load_file
from torch import Tensor

from tests.simulation.launched import Host, Job, finish, lay, running
from training.contract.breakpoints import Breakpoint, BreakpointPlan
from training.contract.layout import BREAKPOINTS_VARIABLE

if TYPE_CHECKING:
    from subprocess import Popen

WAIT_S = 200
"""Until a training reaches a moment: one that takes longer hangs."""
STOPPED = re.compile(
    r"stopped because algo-(?:1 and algo-2 were|[12] was) told to; saved at step (\d+)"
)
"""In the log of two hosts that were both told. The ranks may ask each other between the signals."""

Act = Callable[[Sequence["Popen[str]"], int], None]
"""Does something to the launchers of all hosts and to the rank that is at the moment."""


def nothing(_launchers: Sequence["Popen[str]"], _rank: int) -> None:
    """Let a rank wait."""


def interrupt(
    job: Job, moment: Breakpoint, act: Act, *, goes_on: bool = True, restored: Path | None = None
) -> list[Host]:
    """Run a job; act when a rank is at a moment; let that rank go on, or stall for ever."""
    plan = BreakpointPlan(folder=job.folder / "moments", breakpoints=[moment])
    plan.folder.mkdir(parents=True)
    watched = replace(job, environment={**job.environment, BREAKPOINTS_VARIABLE: plan.text()})
    hosts = lay(watched)
    lay_checkpoints(hosts, restored)
    with running(watched, hosts) as launchers:
        reached = moment.reached_file(plan.folder)
        deadline_s = time.monotonic() + WAIT_S
        while not reached.exists():
            assert time.monotonic() < deadline_s, f"no rank came to {moment}"
            assert all(launcher.poll() is None for launcher in launchers), "a host ended before"
            time.sleep(0.02)
        act(launchers, int(reached.read_text()))
        if goes_on:
            moment.go_file(plan.folder).touch()
        return finish(hosts, launchers)


def go_on(job: Job, restored: Path | None) -> list[Host]:
    """Run a job to its end, from the checkpoints that every host finds, if any."""
    hosts = lay(job)
    lay_checkpoints(hosts, restored)
    with running(job, hosts) as launchers:
        return finish(hosts, launchers)


def lay_checkpoints(hosts: Sequence[tuple[str, Path]], restored: Path | None) -> None:
    if restored is not None:
        for _, base_dir in hosts:
            shutil.copytree(restored, base_dir / "checkpoints", dirs_exist_ok=True)


def stored_checkpoints(hosts: Sequence[Host], folder: Path) -> Path:
    """What S3 holds of all hosts, and every host gets back."""
    for host in hosts:
        shutil.copytree(host.base_dir / "checkpoints", folder, dirs_exist_ok=True)
    return folder


def weights(hosts: Sequence[Host]) -> dict[str, Tensor]:
    return load_file(hosts[0].base_dir / "model" / "model.safetensors")


def equal_bits(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def largest_difference(one: dict[str, Tensor], other: dict[str, Tensor]) -> float:
    return max((one[name] - other[name]).abs().max().item() for name in one)
