"""Which accelerators an image can use: on others a job starts, costs money and fails."""

import re
from collections.abc import Sequence
from typing import Final

_CUDA: Final = re.compile(r"[-_]cu(?:da)?([0-9]{2})[0-9.]*(?=[-_@]|$)")
"""In the tag of a base image, `...-cu133-...`: major version, then minor."""
_OLDEST_CUDA_WITHOUT: Final = {"p2": 12, "p3": 13, "p3dn": 13}
"""Family of instances -> the major version of CUDA that has dropped its GPUs, K80 and V100."""
_NO_CUDA: Final = ("trn", "inf")
"""Families with chips of other makers: on a CUDA image the trainers would use the processors."""


def accelerator_problem(key: str, base_image: str, instance_types: Sequence[str]) -> str | None:
    """What is wrong with instances for an image; None where nothing is, or its tag says nothing.

    Args:
        key: the setting that names the image.
        base_image: with its tag.
        instance_types: `ml.g5.12xlarge`, for instance, of the training hosts.
    """
    found = _CUDA.search(base_image)
    if not found:
        return None
    cuda = int(found[1])
    wrong = [name for name in instance_types if not _can_use(name.split(".")[1], cuda)]
    if not wrong:
        return None
    return (
        f"training.allowed_instance_types has {', '.join(wrong)}, but {key} is {base_image}, with "
        f"CUDA {cuda}, which knows none of their chips. Allowed: g4dn, g5 and newer GPUs, or a "
        "base image for those chips."
    )


def _can_use(family: str, cuda: int) -> bool:
    return not family.startswith(_NO_CUDA) and cuda < _OLDEST_CUDA_WITHOUT.get(family, cuda + 1)
