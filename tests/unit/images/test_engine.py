"""Which program builds, and with which words."""

import os
from pathlib import Path

import pytest

from evenshard.errors import RefusedError
from evenshard.images.assets import ImageAsset
from evenshard.images.building import build, on_base
from evenshard.images.engine import BUILDAH, DOCKER, PODMAN, Engine, find_engine

IMAGE = ImageAsset(
    framework="pytorch",
    folder=Path("/assembly/asset.1"),
    dockerfile="training/pytorch/Dockerfile",
    arguments={"BASE_IMAGE": "registry/base:1"},
    platform="linux/amd64",
    tag="localhost/evenshard-pytorch:1",
)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH of one empty folder."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def add_program(folder: Path, name: str, exit_code: int) -> None:
    """One that leaves its arguments and its folder beside it."""
    file = folder / name
    file.write_text(f'#!/bin/sh\nprintf "%s\\n" "$PWD" "$@" > {folder}/called\nexit {exit_code}\n')
    file.chmod(0o755)


@pytest.mark.parametrize(
    ("answering", "chosen"),
    [
        ({"docker": 0, "podman": 0, "buildah": 0}, DOCKER),
        ({"docker": 1, "podman": 0, "buildah": 0}, PODMAN),
        ({"docker": 1, "podman": 125, "buildah": 0}, BUILDAH),
        ({"buildah": 0}, BUILDAH),
    ],
)
def test_the_first_that_answers_builds(
    programs: Path, answering: dict[str, int], chosen: Engine
) -> None:
    for name, exit_code in answering.items():
        add_program(programs, name, exit_code)
    assert find_engine() == chosen
    assert (programs / "called").read_text().splitlines()[1:] == ["info"]


def test_a_client_without_a_daemon_does_not_count(programs: Path) -> None:
    add_program(programs, "docker", 1)
    with pytest.raises(RefusedError, match=r"docker info.*apt-get install buildah"):
        find_engine()


def test_the_build_runs_in_the_staged_folder(programs: Path, tmp_path: Path) -> None:
    add_program(programs, "docker", 0)
    folder = tmp_path / "asset"
    folder.mkdir()
    staged = ImageAsset(
        framework=IMAGE.framework,
        folder=folder,
        dockerfile=IMAGE.dockerfile,
        arguments=IMAGE.arguments,
        platform=IMAGE.platform,
        tag=IMAGE.tag,
    )
    build(staged, DOCKER)
    assert (programs / "called").read_text().splitlines() == [
        str(folder),
        "build",
        "--build-arg=BASE_IMAGE=registry/base:1",
        "--tag=localhost/evenshard-pytorch:1",
        "--file=training/pytorch/Dockerfile",
        "--platform=linux/amd64",
        ".",
    ]


def test_pip_is_configured_by_a_secret_and_the_base_replaced() -> None:
    command = BUILDAH.command(on_base(IMAGE, "mirror/base:2"), Path("/etc/pip.conf"))
    assert command[:3] == ["buildah", "bud", "--isolation=chroot"]
    assert "--secret=id=pip,src=/etc/pip.conf" in command
    assert "--build-arg=BASE_IMAGE=mirror/base:2" in command
    assert on_base(IMAGE, None) == IMAGE


def test_a_build_that_fails_says_upon_what(programs: Path, tmp_path: Path) -> None:
    add_program(programs, "docker", 7)
    image = ImageAsset(
        framework="pytorch",
        folder=tmp_path,
        dockerfile="training/pytorch/Dockerfile",
        arguments={"BASE_IMAGE": "registry/base:1"},
        platform="linux/amd64",
        tag="t",
    )
    with pytest.raises(RefusedError, match=r"exited with 7.*registry/base:1.*--base-image"):
        build(image, DOCKER)
    assert os.environ["PATH"] == str(programs)
