"""Checkpoints and TensorBoard events are synchronised where the trainers write them.

Another LocalPath is legal, and nothing would ever be copied from it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from infra.pipeline.validation.document import TRAINING, Definition
from infra.pipeline.validation.problem import Problem
from infra.pipeline.validation.wording import shown
from training.contract.layout import DEFAULT_BASE_DIR
from training.contract.paths import ContainerPaths

ID: Final = "training-path"
_CONTAINER: Final = ContainerPaths(Path(DEFAULT_BASE_DIR))
PLACES: Final = {
    "CheckpointConfig": _CONTAINER.checkpoint_dir.as_posix(),
    "TensorBoardOutputConfig": _CONTAINER.tensorboard_dir.as_posix(),
}
"""Also what SageMaker takes where LocalPath is absent."""


def check(definition: Definition) -> Iterator[Problem]:
    """Judge the local paths of training steps."""
    for step in definition.of_kind(TRAINING):
        for key, written in PLACES.items():
            local = step.argument(key, "LocalPath")
            if local not in (None, written):
                yield Problem(
                    path=f"{step.arguments_path}.{key}.LocalPath",
                    rule=ID,
                    wrong=f"{shown(local)}; allowed: {written!r}, where the trainers write",
                    fix=f"Write {written!r}, or leave it out",
                )
