"""What builds images on this machine: docker, podman, or buildah, which needs no daemon."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evenshard.errors import RefusedError
from evenshard.images.assets import ImageAsset

PIP_SECRET: Final = "pip"  # noqa: S105 - the name of a build secret, not one
"""Under this name the Dockerfiles look for pip's configuration while they install."""
_ANSWER_LIMIT_S: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """A program that builds a Dockerfile."""

    name: str
    verb: tuple[str, ...]
    """Its words for "build"; what follows is the same for all."""

    def command(self, image: ImageAsset, pip_configuration: Path | None) -> list[str]:
        """The command that builds an image in its folder.

        Args:
            image: what to build.
            pip_configuration: a file that pip reads during the build and that stays outside the
                image.
        """
        arguments = [f"--build-arg={name}={text}" for name, text in image.arguments.items()]
        secrets = [f"--secret=id={PIP_SECRET},src={pip_configuration}"] if pip_configuration else []
        return [
            self.name,
            *self.verb,
            *arguments,
            *secrets,
            f"--tag={image.tag}",
            f"--file={image.dockerfile}",
            f"--platform={image.platform}",
            ".",
        ]


DOCKER: Final = Engine(name="docker", verb=("build",))
PODMAN: Final = Engine(name="podman", verb=("build",))
# Each RUN in a chroot: that works inside of containers too, where there is nothing to nest into.
BUILDAH: Final = Engine(name="buildah", verb=("bud", "--isolation=chroot"))


def find_engine() -> Engine:
    """The first that answers: docker, podman, buildah.

    Raises:
        RefusedError: none does.
    """
    for engine in (DOCKER, PODMAN, BUILDAH):
        if answers(engine):
            return engine
    raise RefusedError(
        "nothing here builds images: neither `docker info`, `podman info` nor `buildah info` "
        "answers (a docker client without a daemon does not count). Start Docker, or install "
        "buildah, which needs no daemon: apt-get install buildah"
    )


def answers(engine: Engine) -> bool:
    """Whether the program is there and what it needs is running."""
    if shutil.which(engine.name) is None:
        return False
    try:
        done = subprocess.run(
            [engine.name, "info"], capture_output=True, check=False, timeout=_ANSWER_LIMIT_S
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0
