"""The images of a synthesized assembly: what `cdk deploy` builds, folder, file and arguments."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final

from evenshard.errors import UsageError

BASE_IMAGE: Final = "BASE_IMAGE"
"""The argument of the Dockerfiles that names what they build upon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageAsset:
    """One image to be built."""

    framework: str
    folder: Path
    """The build's context: what was staged for it, and nothing else."""
    dockerfile: str
    """Relative to `folder`."""
    arguments: Mapping[str, str]
    """The build's, by name."""
    platform: str
    """`linux/amd64` for instance."""
    tag: str
    """What the image is called on this machine; it moves with its sources."""


def read_images(assembly: Path) -> list[ImageAsset]:
    """Find the images of an assembly, in the order of their frameworks' names.

    Raises:
        UsageError: the folder is no assembly, or no image is built in it.
    """
    manifests = sorted(assembly.glob("*.assets.json"))
    found = [
        _image(assembly, source_hash, asset["source"])
        for manifest in manifests
        for source_hash, asset in _read(manifest).get("dockerImages", {}).items()
    ]
    if not found:
        raise UsageError(
            f"no image to build in {assembly}: {len(manifests)} asset manifests, none of them with "
            'an image. Synthesize settings in which an image has kind = "build".'
        )
    return sorted(found, key=lambda image: image.framework)


def _image(assembly: Path, source_hash: str, source: Mapping[str, Any]) -> ImageAsset:
    dockerfile = source["dockerFile"]
    framework = PurePosixPath(dockerfile).parent.name
    return ImageAsset(
        framework=framework,
        # Absolute, since the build runs in this folder.
        folder=(assembly / source["directory"]).resolve(),
        dockerfile=dockerfile,
        arguments=source.get("dockerBuildArgs", {}),
        platform=source["platform"],
        tag=f"localhost/evenshard-{framework}:{source_hash[:12]}",
    )


def _read(manifest: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(manifest.read_text(encoding="utf-8"))
    return loaded
