"""Checkpoints of two hosts with two ranks each, whose files are short texts."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from tests.unit.checkpoints.rank_threads import on_ranks
from training.checkpoints import CheckpointWriter, Group, Snapshot

IDENTITY = {"seed": 7, "batch_size": 4}


def writer(root: Path, group: Group, *, keep: int = 2) -> CheckpointWriter:
    return CheckpointWriter(
        root=root / group.host,
        group=group,
        framework="pytorch",
        identity=IDENTITY,
        keep=keep,
    )


def write_own(folder: Path, group: Group, step: int) -> list[Path]:
    file = folder / f"rank-{group.rank:05}.pt"
    file.write_text(f"rank {group.rank} after step {step}")
    return [file]


def snapshot(step: int, group: Group) -> Snapshot:
    return Snapshot(step=step, progress={"epoch": step // 10}, of_rank={"rank": group.rank})


def save_steps(root: Path, steps: Sequence[int], *, keep: int = 2) -> None:
    """Save on every rank; each host writes to a disk of its own, `root/<host>`."""

    def save(group: Group) -> None:
        mine = writer(root, group, keep=keep)
        for step in steps:
            mine.save(snapshot(step, group), lambda folder: write_own(folder, group, step))  # noqa: B023 - called at once

    on_ranks(save)


def restore(root: Path) -> Path:
    """The disk that every host has after a restore: all files of all hosts."""
    disk = root / "restored"
    for host in sorted(root.glob("algo-*")):
        shutil.copytree(host, disk, dirs_exist_ok=True)
    return disk


def files_below(folder: Path) -> list[str]:
    return sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
    )
