"""The stand-in for docker, called as the CDK's asset publisher calls it."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.images.cdk_docker import NOT_FOUND, UNKNOWN_VERB
from tests.images.deployment import cdk_variables, pushed_images
from tests.images.store import Store

DOCKERFILE = "training/tensorflow/Dockerfile"
ECR = "123456789012.dkr.ecr.us-east-1.localhost/cdk-assets"

pytestmark = pytest.mark.timeout(400)


@dataclass(frozen=True, slots=True, kw_only=True)
class Docker:
    """What the CDK starts."""

    environment: Mapping[str, str]

    def __call__(self, arguments: Sequence[str], folder: Path | None = None) -> int:
        done = subprocess.run(
            [self.environment["CDK_DOCKER"], *arguments],
            cwd=folder,
            env=self.environment,
            input="a token",
            capture_output=True,
            text=True,
            check=False,
            timeout=200,
        )
        return done.returncode


@pytest.fixture
def docker(store: Store) -> Docker:
    return Docker(environment={**store.environment, **cdk_variables(store)})


@pytest.fixture
def staged(tmp_path: Path) -> Path:
    """A folder as the CDK stages it for an image."""
    (tmp_path / "training" / "tensorflow").mkdir(parents=True)
    (tmp_path / DOCKERFILE).write_text(
        "ARG BASE_IMAGE=registry/base:1\nFROM ${BASE_IMAGE}\nARG WORD\n"
        "RUN --mount=type=secret,id=pip,target=/etc/pip.conf python3 -m pip config list > /listed "
        "&& echo ${WORD} > /word\nCOPY training /code/training\n"
    )
    return tmp_path


def test_an_image_goes_the_way_of_a_deployment(docker: Docker, store: Store, staged: Path) -> None:
    local, remote = "cdkasset-0123456789abcdef", f"{ECR}:0123456789abcdef"
    assert docker(["login", "--username", "AWS", "--password-stdin", "localhost"]) == 0
    assert docker(["inspect", local]) == NOT_FOUND
    arguments = ["--build-arg", "BASE_IMAGE=public.ecr.aws/x/y:1", "--build-arg", "WORD=given"]
    options = ["--tag", local, "--file", DOCKERFILE, "--platform", "linux/amd64", "."]
    assert docker(["build", *arguments, *options], staged) == 0
    assert docker(["inspect", local]) == 0
    assert docker(["push", remote]) == NOT_FOUND
    assert docker(["tag", local, remote]) == 0
    assert docker(["push", remote]) == 0
    assert pushed_images(store) == [remote]
    assert remote in store.tags()
    with store.laid_out(remote) as image:
        assert (image.root / "code" / DOCKERFILE).is_file()
        assert (image.root / "word").read_text() == "given\n"
        assert "global." in (image.root / "listed").read_text()
        # The build read pip's configuration; the image does not hold it.
        assert not (image.root / "etc" / "pip.conf").exists()


def test_a_build_that_fails_fails_the_deployment(docker: Docker, staged: Path) -> None:
    with (staged / DOCKERFILE).open("a") as file:
        file.write("RUN test -e /nowhere\n")
    options = ["--tag", "failing", "--file", DOCKERFILE, "."]
    assert docker(["build", "--build-arg", "BASE_IMAGE=registry/base:1", *options], staged) != 0
    assert docker(["inspect", "failing"]) == NOT_FOUND


def test_a_verb_that_is_not_the_cdks_is_refused(docker: Docker) -> None:
    assert docker(["--config", "/nowhere", "run", "image"]) == UNKNOWN_VERB
