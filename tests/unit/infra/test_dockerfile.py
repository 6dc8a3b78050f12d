"""The image's recipe agrees with what the definition and the trainers expect."""

import json
from pathlib import Path

from infra.settings import load_settings
from training.contract.layout import CODE_DIR, ENTRYPOINT_WRAPPER, PYTORCH, training_entrypoint

DOCKERFILE = Path(__file__).parents[3] / "training" / PYTORCH / "Dockerfile"


def instructions() -> list[str]:
    text = DOCKERFILE.read_text().replace("\\\n", "")
    lines = [" ".join(line.split()) for line in text.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def test_the_default_base_is_that_of_the_settings() -> None:
    base_image = load_settings("dev").image.base_image
    assert instructions()[:2] == [f"ARG BASE_IMAGE={base_image}", "FROM ${BASE_IMAGE}"]


def test_the_entry_point_is_the_jobs_and_gets_signals() -> None:
    [line] = [line for line in instructions() if line.startswith("ENTRYPOINT ")]
    # Exec form: a shell would keep SIGTERM to itself.
    assert json.loads(line.removeprefix("ENTRYPOINT ")) == training_entrypoint(PYTORCH)
    assert f"RUN test -x {ENTRYPOINT_WRAPPER}" in instructions()


def test_code_lies_where_python_looks() -> None:
    assert f"ENV PYTHONPATH={CODE_DIR} OPT_OUT_TRACKING=true" in instructions()
    copies = [line.split()[1:] for line in instructions() if line.startswith("COPY ")]
    for source, target in copies:
        assert source.split("/")[0] == "training"
        assert target == f"{CODE_DIR}/{source}"
