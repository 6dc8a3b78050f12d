"""The frameworks that ranks can be started with, by name."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from training.contract.errors import ContractError
from training.launcher.framework import Framework
from training.launcher.tensorflow import TENSORFLOW_WORKERS
from training.launcher.torchrun import TORCHRUN

_FRAMEWORKS: Final[Mapping[str, Framework]] = MappingProxyType(
    {framework.name: framework for framework in (TORCHRUN, TENSORFLOW_WORKERS)}
)


def find_framework(name: str) -> Framework:
    """Find how a framework's ranks are started.

    Raises:
        ContractError: there is no such framework.
    """
    if name not in _FRAMEWORKS:
        raise ContractError(
            f"There is no framework {name!r}. Allowed: {', '.join(_FRAMEWORKS)}. Change the last "
            "word of ContainerEntrypoint."
        )
    return _FRAMEWORKS[name]
