#!/usr/bin/env python3
"""What CDK_DOCKER names where no docker runs: the CDK's verbs, done by buildah in a local store.

`cdk deploy` then really builds its images, upon the stand-ins, and "pushes" them by keeping them
under the name that they would have in ECR. Whoever sets CDK_DOCKER to this file also sets
EVENSHARD_IMAGE_STORE, the folder of a `Store` that has the stand-ins, and may name a pip.conf for
the builds in EVENSHARD_PIP_CONFIGURATION. It needs nothing but the standard library.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

STORE_VARIABLE = "EVENSHARD_IMAGE_STORE"
PIP_VARIABLE = "EVENSHARD_PIP_CONFIGURATION"
PUSHED = "pushed.txt"
"""In the store's folder: one name of a "pushed" image per line."""
UNKNOWN_VERB = 64
NOT_FOUND = 1
"""What docker says of an image that it does not have; the CDK relies on it."""


def main(arguments: Sequence[str]) -> int:
    """Do one verb and return its exit code."""
    verb, *rest = _without_configuration(arguments)
    match verb:
        case "build":
            return _buildah("bud", "--isolation=chroot", *_build_arguments(rest))
        case "inspect":
            return 0 if _exists(rest[-1]) else NOT_FOUND
        case "tag":
            return _buildah("tag", *rest)
        case "login":
            # The token of an emulated registry: nobody asks for it.
            sys.stdin.read()
            return 0
        case "push":
            return _push(rest[-1])
    sys.stderr.write(f"{verb}: not one of build, inspect, tag, login, push, which this does.\n")
    return UNKNOWN_VERB


def _without_configuration(arguments: Sequence[str]) -> Sequence[str]:
    """The CDK names a folder of credentials first, if it has one."""
    return arguments[2:] if arguments[:1] == ["--config"] else arguments


def _build_arguments(arguments: Sequence[str]) -> list[str]:
    """The CDK's own, with the stand-in of the framework whose Dockerfile it is."""
    dockerfile = PurePosixPath(arguments[arguments.index("--file") + 1])
    changed = [
        f"BASE_IMAGE=localhost/evenshard-standin:{dockerfile.parent.name}"
        if argument.startswith("BASE_IMAGE=")
        else argument
        for argument in arguments
    ]
    configuration = os.environ.get(PIP_VARIABLE)
    return [f"--secret=id=pip,src={configuration}", *changed] if configuration else changed


def _push(name: str) -> int:
    if not _exists(name):
        sys.stderr.write(f"{name}: no such image here. Tag one with this name first.\n")
        return NOT_FOUND
    with (_store() / PUSHED).open("a", encoding="utf-8") as file:
        file.write(f"{name}\n")
    return 0


def _exists(name: str) -> bool:
    return _buildah("inspect", "--type=image", "--format={{.FromImageID}}", name, quiet=True) == 0


def _buildah(*arguments: str, quiet: bool = False) -> int:
    done = subprocess.run(
        ["buildah", *arguments],
        env={**os.environ, "CONTAINERS_STORAGE_CONF": str(_store() / "storage.conf")},
        stdout=subprocess.DEVNULL if quiet else None,
        stderr=subprocess.DEVNULL if quiet else None,
        check=False,
    )
    return done.returncode


def _store() -> Path:
    return Path(os.environ[STORE_VARIABLE])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
