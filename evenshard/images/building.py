"""Builds one image and says how it went."""

import subprocess
from dataclasses import replace
from pathlib import Path

from evenshard.errors import RefusedError
from evenshard.images.assets import BASE_IMAGE, ImageAsset
from evenshard.images.engine import Engine


def on_base(image: ImageAsset, base_image: str | None) -> ImageAsset:
    """The same image on another base; on its own where none is given."""
    if base_image is None:
        return image
    return replace(image, arguments={**image.arguments, BASE_IMAGE: base_image})


def build(image: ImageAsset, engine: Engine, pip_configuration: Path | None = None) -> None:
    """Build an image; what the engine says goes where our own output goes.

    Raises:
        RefusedError: the engine failed.
    """
    command = engine.command(image, pip_configuration)
    done = subprocess.run(command, cwd=image.folder, check=False)
    if done.returncode != 0:
        raise RefusedError(
            f"{engine.name} could not build {image.tag}: it exited with {done.returncode}, and its "
            f"last lines say why. It built {image.dockerfile} upon {image.arguments[BASE_IMAGE]}; "
            "another base, a mirror for instance, is named with --base-image FRAMEWORK=IMAGE."
        )
