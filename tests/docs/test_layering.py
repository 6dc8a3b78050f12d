"""Who may import whom, as docs/architecture.md says."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evenshard.repository import ROOT

OURS = {"training", "infra", "evenshard"}
TORCH_EDGE = "training/records/torch_dataset.py: torch"
"""The data layer does without torch, but for the module that is a dataset of it."""

JUNK_DRAWERS = {"utils", "util", "helpers", "helper", "common", "misc", "base"}


def _imports(folder: str) -> Iterator[tuple[Path, str]]:
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from ((path, name.name) for name in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{path}: imports are absolute"
                yield path, node.module or ""


def _foreign(folder: str, allowed: set[str]) -> list[str]:
    """Imports in `folder` of our own or third-party packages that are not below `allowed`."""
    return [
        f"{path.relative_to(ROOT)}: {module}"
        for path, module in _imports(folder)
        if module.split(".")[0] not in sys.stdlib_module_names
        and not any(module == name or module.startswith(f"{name}.") for name in allowed)
    ]


@pytest.mark.parametrize(
    ("folder", "allowed"),
    [
        ("training/contract", {"training.contract"}),
        ("training/checkpoints", {"training.contract", "training.checkpoints"}),
        (
            "training/shards",
            {"training.contract", "training.shards", "boto3", "botocore", "mypy_boto3_s3"},
        ),
        ("training/records", {"training.contract", "training.records", "numpy", "pyarrow"}),
    ],
)
def test_layers_import_only_what_they_may(folder: str, allowed: set[str]) -> None:
    assert (ROOT / folder).is_dir()
    assert [found for found in _foreign(folder, allowed) if not found.startswith(TORCH_EDGE)] == []


@pytest.mark.parametrize(
    ("folder", "forbidden"),
    [
        ("training", {"infra", "evenshard"}),
        ("evenshard", {"infra", "aws_cdk", "sagemaker", "torch"}),
        ("infra", {"evenshard", "torch", "numpy", "pyarrow"}),
    ],
)
def test_houses_keep_apart(folder: str, forbidden: set[str]) -> None:
    seen = [
        f"{path.relative_to(ROOT)}: {module}"
        for path, module in _imports(folder)
        if module.split(".")[0] in forbidden
    ]
    assert seen == []


@pytest.mark.parametrize("folder", ["infra", "evenshard"])
def test_of_training_only_contract_and_shards_are_shared(folder: str) -> None:
    shared = ("training.contract", "training.shards")
    seen = [
        f"{path.relative_to(ROOT)}: {module}"
        for path, module in _imports(folder)
        if module.split(".")[0] == "training" and not module.startswith(shared)
    ]
    assert seen == []


SIMULATOR_ROOMS = {
    "pipeline": {"evenshard.simulator.limits"},
    "storage": {"training.shards"},
    "cluster": {
        "evenshard.simulator.storage",
        "evenshard.simulator.marked",
        "evenshard.simulator.processes",
        "training.contract",
        "training.shards",
    },
    "deployment": {"evenshard.simulator.storage", "evenshard.simulator.processes"},
}
"""What each may import beside itself and errors: what a run does stands above them."""


@pytest.mark.parametrize("room", SIMULATOR_ROOMS)
def test_rooms_of_the_simulator_know_nothing_of_the_run(room: str) -> None:
    allowed = SIMULATOR_ROOMS[room] | {
        f"evenshard.simulator.{room}",
        "evenshard.simulator.errors",
        "evenshard.errors",
        "evenshard.repository",
    }
    folder = f"evenshard/simulator/{room}"
    assert (ROOT / folder).is_dir()
    foreign = _foreign(folder, allowed | {"boto3", "botocore", "mypy_boto3_s3"})
    assert foreign == []


def test_no_module_is_a_junk_drawer() -> None:
    names = [path for folder in OURS for path in (ROOT / folder).rglob("*.py")]
    assert [path for path in names if path.stem in JUNK_DRAWERS] == []
