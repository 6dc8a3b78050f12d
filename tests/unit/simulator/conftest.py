"""A stage for one step, and what stands on it in place of a container."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.simulator.stage import Stage, make_stage, play


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return make_stage(tmp_path)


@pytest.fixture
def cast(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    return play(monkeypatch, tmp_path)
