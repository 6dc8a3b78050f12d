"""buildah with a store of the tests' own: what is built here is nobody else's."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenshard.repository import ROOT

LIMIT_S = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """A built image, laid out as files."""

    root: Path
    """Its root file system."""
    entrypoint: list[str]
    environment: Mapping[str, str]
    working_directory: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """A folder that holds images."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """The variables that lead buildah to this store."""
        return {**os.environ, "CONTAINERS_STORAGE_CONF": str(self.folder / "storage.conf")}

    def create(self) -> None:
        """Begin it, with the storage driver that works here."""
        for driver in ("overlay", "vfs"):
            (self.folder / "storage.conf").write_text(
                f'[storage]\ndriver = "{driver}"\n'
                f'graphroot = "{self.folder}/graph"\nrunroot = "{self.folder}/run"\n'
            )
            if self._run("info").returncode == 0:
                return
        raise AssertionError(f"buildah does not work here: {self._run('info').stderr}")

    def buildah(self, *arguments: str) -> str:
        """Run buildah; what it printed, or an AssertionError with what went wrong."""
        done = self._run(*arguments)
        assert done.returncode == 0, f"buildah {arguments}: {done.stderr[-4000:]}"
        return done.stdout.strip()

    def run_module(self, *arguments: str) -> str:
        """Run one of our modules with this store, and no other engine than buildah on its PATH."""
        only_buildah = self.folder / "bin"
        only_buildah.mkdir(exist_ok=True)
        for name in ("docker", "podman"):
            (only_buildah / name).write_text("#!/bin/sh\nexit 1\n")
            (only_buildah / name).chmod(0o755)
        path = f"{only_buildah}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            [sys.executable, "-m", *arguments],
            env={**self.environment, "PATH": path},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_S,
        )
        assert done.returncode == 0, f"{arguments}: {done.stdout[-4000:]}{done.stderr[-4000:]}"
        return done.stdout

    def delete(self) -> None:
        """Take down what is mounted, and all files."""
        self._run("umount", "--all")
        self._run("rm", "--all")
        # The overlay driver mounts its own folder onto itself.
        subprocess.run(["umount", f"{self.folder}/graph/overlay"], capture_output=True, check=False)
        shutil.rmtree(self.folder)

    def tags(self) -> set[str]:
        """The names of all images."""
        listed = json.loads(self.buildah("images", "--json"))
        return {name for image in listed for name in image["names"] or ()}

    @contextmanager
    def laid_out(self, tag: str) -> Iterator[Image]:
        """An image's files in a container of their own, gone when the block ends."""
        container = self.buildah("from", "--pull-never", tag)
        try:
            root = Path(self.buildah("mount", container))
            yield _image(root, json.loads(self.buildah("inspect", "--type=image", tag)))
        finally:
            self.buildah("umount", container)
            self.buildah("rm", container)

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["buildah", *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_S,
        )


def _image(root: Path, described: Mapping[str, Any]) -> Image:
    config = described["OCIv1"]["config"]
    return Image(
        root=root,
        entrypoint=config.get("Entrypoint", []),
        environment=dict(pair.split("=", 1) for pair in config["Env"]),
        working_directory=config.get("WorkingDir") or "/",
    )
