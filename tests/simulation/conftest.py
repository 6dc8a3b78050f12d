"""One synthesized assembly and one data set for all runs of the pipeline."""

from collections.abc import Callable
from pathlib import Path

import pytest

from evenshard.simulator.deployment.assembly import synthesize
from tests.simulation.pipeline_runs import Edit, Run, RunPipeline, edit_definition, run_pipeline
from tests.simulation.small_mail import write_splits


@pytest.fixture(scope="session")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real app, synthesized as `evenshard simulate` does it."""
    return synthesize(tmp_path_factory.mktemp("assembly")).folder


@pytest.fixture(scope="session")
def edited(assembly: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Edit], Path]:
    """Copies of the assembly whose definition a function has changed."""

    def edit(change: Edit) -> Path:
        return edit_definition(assembly, tmp_path_factory.mktemp("edited") / "assembly", change)

    return edit


@pytest.fixture(scope="session")
def mail(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six unequal shards of text that is easy to tell apart."""
    return write_splits(tmp_path_factory.mktemp("mail"))


@pytest.fixture
def run(assembly: Path, mail: Path, tmp_path: Path) -> RunPipeline:
    """Runs the pipeline with small defaults: one epoch, one device per host."""

    def simulate_once(**changes: object) -> Run:
        return run_pipeline(
            {"assembly": assembly, "data": mail, "state_folder": tmp_path / "state", **changes}
        )

    return simulate_once
