"""Build the images of an assembly: `make images` runs `python -m evenshard.images ASSEMBLY`."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from evenshard.errors import ExitCode, RefusedError, UsageError
from evenshard.images.assets import ImageAsset, read_images
from evenshard.images.building import build, on_base
from evenshard.images.engine import find_engine
from evenshard.output import say


def main(arguments: Sequence[str]) -> int:
    """Build what was asked for, one image after the other."""
    options = _options(arguments)
    try:
        images = read_images(options.assembly)
        bases = _bases(options.base_image, images)
        engine = find_engine()
        for image in images:
            chosen = on_base(image, bases.get(image.framework))
            say(f"{engine.name} builds {chosen.tag} ...")
            build(chosen, engine, options.pip_configuration)
    except (UsageError, RefusedError) as error:
        say(f"Error: {error}", error=True)
        return ExitCode.USAGE if isinstance(error, UsageError) else ExitCode.FAILED
    for image in images:
        say(f"{image.framework}: {image.tag}")
    return ExitCode.DONE


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m evenshard.images", description=__doc__)
    parser.add_argument("assembly", type=Path, help="a folder that `cdk synth` wrote")
    parser.add_argument(
        "--base-image",
        action="append",
        default=[],
        metavar="FRAMEWORK=IMAGE",
        help="instead of the settings' base image, a mirror's for instance",
    )
    parser.add_argument(
        "--pip-configuration",
        type=_file,
        metavar="FILE",
        help="a pip.conf for the build only, where packages come from an index of your own",
    )
    return parser.parse_args(arguments)


def _file(text: str) -> Path:
    path = Path(text).resolve()
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"no file {path}. Name a pip.conf.")
    return path


def _bases(given: Sequence[str], images: Sequence[ImageAsset]) -> Mapping[str, str]:
    known = [image.framework for image in images]
    bases: dict[str, str] = {}
    for pair in given:
        framework, _, base_image = pair.partition("=")
        if framework not in known or not base_image:
            raise UsageError(
                f"--base-image {pair} names no image of the assembly. Allowed: "
                f"{', '.join(f'{name}=IMAGE' for name in known)}."
            )
        bases[framework] = base_image
    return bases


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
