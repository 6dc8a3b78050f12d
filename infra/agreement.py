"""What the tables of a settings file must have in common."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from infra.network.settings import addresses_problem
from infra.operations.settings import triggers_problem
from infra.pipeline.accelerators import accelerator_problem
from infra.target import registry_problem

if TYPE_CHECKING:  # it asks this module while it is checked
    from infra.settings import Settings


def disagreements(settings: "Settings") -> Iterator[str]:
    """Each that there is: keys, what they say, what is allowed, what to do."""
    found = [
        addresses_problem(
            settings.network,
            instance_count=settings.training.instance_count,
            instance_types=settings.training.allowed_instance_types,
        ),
        triggers_problem(settings.triggers, settings.frameworks),
        *(_accelerators(settings, framework) for framework in settings.frameworks),
        *(
            registry_problem(settings.target, key, image)
            for framework in settings.frameworks
            for key, image in [_image(settings, framework)]
        ),
    ]
    yield from (one for one in found if one)


def _accelerators(settings: "Settings", framework: str) -> str | None:
    key, image = _image(settings, framework)
    return accelerator_problem(key, image, settings.training.allowed_instance_types)


def _image(settings: "Settings", framework: str) -> tuple[str, str]:
    """The setting that names what is pulled, and the image."""
    image = settings.of_framework(framework).image
    if image.kind == "build":
        return f"{framework}.image.base_image", image.base_image
    return f"{framework}.image.uri", image.uri
