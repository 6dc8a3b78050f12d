"""Where the code of Lambda functions comes from. Steps know `Functions`, not which one it is."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionCode:
    """A Lambda function whose code lies in a folder of this machine."""

    name: str
    folder: Path
    handler: str
    environment: Mapping[str, str]
    limit_s: int
    """The function's own time limit."""
    calls_aws: bool = False
    """It runs as on Lambda and calls AWS itself; else the simulator lists objects for it."""


class Functions(Protocol):
    """What a simulation needs to know of Lambda functions."""

    def function(self, arn: str, path: str) -> FunctionCode:
        """Find the code of a function.

        Args:
            arn: of the function.
            path: where the definition names it, for the message.

        Raises:
            DefinitionError: there is no such function, or its code cannot be had.
        """
