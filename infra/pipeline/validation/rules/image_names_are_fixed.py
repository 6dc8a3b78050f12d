"""An image is named by a tag of its own or by its digest.

`latest`, also meant where no tag is given, is another image tomorrow: an execution could not be
repeated, and the steps of one execution could run different code.
"""

from collections.abc import Iterator
from typing import Final

from infra.pipeline.validation.document import (
    PROCESSING,
    TRAINING,
    Definition,
    Step,
    has_token,
)
from infra.pipeline.validation.problem import Problem
from infra.pipeline.validation.wording import shown

ID: Final = "image-name-fixed"
IMAGES: Final = (
    (TRAINING, ("AlgorithmSpecification", "TrainingImage")),
    (PROCESSING, ("AppSpecification", "ImageUri")),
)
REGISTERS: Final = "RegisterModel"


def check(definition: Definition) -> Iterator[Problem]:
    """Judge the images of jobs and of registered models."""
    for path, image in _images(definition):
        # A token's text is not known here; assets are tagged by the hash of their sources.
        if isinstance(image, str) and not has_token(image) and _may_change(image):
            yield Problem(
                path=path,
                rule=ID,
                wrong=f"{shown(image)}; allowed: a tag other than latest, or a digest",
                fix="Name the image by its digest, or by a tag that is never moved",
            )


def _images(definition: Definition) -> Iterator[tuple[str, object]]:
    for kind, place in IMAGES:
        for step in definition.of_kind(kind):
            yield ".".join([step.arguments_path, *place]), step.argument(*place)
    for step in definition.of_kind(REGISTERS):
        yield from _containers(step)


def _containers(step: Step) -> Iterator[tuple[str, object]]:
    for path, container in step.items("InferenceSpecification", "Containers"):
        yield f"{path}.Image", container.get("Image")


def _may_change(image: str) -> bool:
    if "@sha256:" in image:
        return False
    _, _, tag = image.rpartition("/")[2].partition(":")
    return tag in ("", "latest")
