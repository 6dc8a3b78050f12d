"""Managed spot training has a checkpoint.

A spot job that is interrupted starts again: without a checkpoint, from zero, every time.
"""

from collections.abc import Iterator
from typing import Final

from infra.pipeline.validation.document import TRAINING, Definition
from infra.pipeline.validation.problem import Problem

ID: Final = "spot-needs-checkpoint"


def check(definition: Definition) -> Iterator[Problem]:
    """Judge spot training steps."""
    for step in definition.of_kind(TRAINING):
        spot = step.argument("EnableManagedSpotTraining")
        if spot not in (None, False) and "CheckpointConfig" not in step.arguments:
            yield Problem(
                path=f"{step.arguments_path}.CheckpointConfig",
                rule=ID,
                wrong="CheckpointConfig is missing; managed spot training requires it here, since "
                "an interrupted job would start from zero",
                fix="Add CheckpointConfig, or use on-demand capacity",
            )
