"""The images' recipes agree with what the definitions and the trainers expect."""

import json
import re
from pathlib import Path

import pytest

from infra.pipeline.settings import BuiltImage
from infra.settings import load_settings
from training.contract.layout import CODE_DIR, ENTRYPOINT_WRAPPER, FRAMEWORKS, training_entrypoint

TRAINING = Path(__file__).parents[3] / "training"

pytestmark = pytest.mark.parametrize("framework", FRAMEWORKS)


def instructions(framework: str) -> list[str]:
    text = (TRAINING / framework / "Dockerfile").read_text().replace("\\\n", "")
    lines = [" ".join(line.split()) for line in text.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("environment", ["dev", "prod"])
def test_the_default_base_is_that_of_the_settings(framework: str, environment: str) -> None:
    image = load_settings(environment).of_framework(framework).image
    assert isinstance(image, BuiltImage)
    lines = instructions(framework)
    assert lines[:2] == [f"ARG BASE_IMAGE={image.base_image}", "FROM ${BASE_IMAGE}"]


def test_the_entry_point_is_the_jobs_and_gets_signals(framework: str) -> None:
    [line] = [line for line in instructions(framework) if line.startswith("ENTRYPOINT ")]
    # Exec form: a shell would keep SIGTERM to itself.
    assert json.loads(line.removeprefix("ENTRYPOINT ")) == training_entrypoint(framework)
    assert f"RUN test -x {ENTRYPOINT_WRAPPER}" in instructions(framework)


def test_code_lies_where_python_looks(framework: str) -> None:
    assert f"ENV PYTHONPATH={CODE_DIR} OPT_OUT_TRACKING=true" in instructions(framework)
    copies = [line.split()[1:] for line in instructions(framework) if line.startswith("COPY ")]
    assert ["training", f"{CODE_DIR}/training"] in copies
    for source, target in copies:
        # The other framework's folder is not in the build's context.
        assert source in ("training", "examples", f"training/{framework}/requirements.lock")
        assert target == f"{CODE_DIR}/{source}"


def test_what_the_image_adds_is_what_the_tests_run_with(framework: str) -> None:
    root = TRAINING.parent
    tested = {
        pin for path in root.glob("requirements*.txt") for pin in pins(path.read_text()).items()
    }
    added = set(pins((TRAINING / framework / "requirements.txt").read_text()).items())
    assert len(added) >= 2
    assert added <= tested


def pins(requirements: str) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9-]+)==([^\s;]+)", requirements, flags=re.MULTILINE))
