"""Model registries. Steps know `ModelRegistry`, not which one it is.

That of simulated runs is a folder: one JSON file per version, below .evenshard/registry/.
"""

import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from evenshard.simulator.deployment.resources import ACCOUNT, PARTITION, REGION


def group_name(name_or_arn: str) -> str:
    """The name of a model package group given by name or by ARN."""
    return name_or_arn.rpartition("model-package-group/")[2]


def package_arn(group: str, version: int) -> str:
    """The ARN of one version; SageMaker writes names in ARNs in lower case."""
    return f"arn:{PARTITION}:sagemaker:{REGION}:{ACCOUNT}:model-package/{group.lower()}/{version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """A version that a registry has taken."""

    version: int
    """Counted from 1."""
    arn: str


class ModelRegistry(Protocol):
    """What a simulation needs of a registry."""

    def register(self, group: str, content: Mapping[str, Any]) -> Registered:
        """Store the next version of a group.

        Args:
            group: its name.
            content: `request`, the arguments of CreateModelPackage, and what else is known.

        Raises:
            ServiceError: the registry refuses it.
        """


@dataclass(frozen=True, slots=True)
class Registry:
    """Model package groups as folders, versions as files counted from 1."""

    root: Path

    def versions(self, group: str) -> list[int]:
        """The versions of a group, ascending."""
        return sorted(
            int(file.stem) for file in (self.root / group).glob("*.json") if file.stem.isdecimal()
        )

    def register(self, group: str, content: Mapping[str, Any]) -> Registered:
        """See ModelRegistry."""
        version, _ = self.add(group, content)
        return Registered(version=version, arn=package_arn(group, version))

    def add(self, group: str, content: Mapping[str, Any]) -> tuple[int, Path]:
        """Store the next version of a group.

        The file is made whole and then linked to its number, which fails if the number is taken:
        two runs at once get two versions, and a reader never sees half a file.

        Returns:
            The version and its file.
        """
        folder = self.root / group
        folder.mkdir(parents=True, exist_ok=True)
        draft = folder / f".draft-{secrets.token_hex(8)}"
        version = max(self.versions(group), default=0) + 1
        try:
            while True:
                entry = {"version": version, "arn": package_arn(group, version), **content}
                draft.write_text(json.dumps(entry, indent=2) + "\n", encoding="utf-8")
                file = folder / f"{version}.json"
                try:
                    os.link(draft, file)
                except FileExistsError:
                    version += 1
                else:
                    return version, file
        finally:
            draft.unlink(missing_ok=True)
