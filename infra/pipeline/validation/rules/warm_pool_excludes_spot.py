"""A warm pool is not combined with managed spot training.

CreateTrainingJob refuses KeepAlivePeriodInSeconds on spot jobs.
"""

from collections.abc import Iterator
from typing import Final

from infra.pipeline.validation.document import TRAINING, Definition, as_mapping
from infra.pipeline.validation.problem import Problem

ID: Final = "warm-pool-excludes-spot"


def check(definition: Definition) -> Iterator[Problem]:
    """Judge training steps with a warm pool."""
    for step in definition.of_kind(TRAINING):
        resources = as_mapping(step.argument("ResourceConfig"))
        spot = step.argument("EnableManagedSpotTraining")
        if "KeepAlivePeriodInSeconds" in resources and spot not in (None, False):
            yield Problem(
                path=f"{step.arguments_path}.ResourceConfig.KeepAlivePeriodInSeconds",
                rule=ID,
                wrong="a warm pool beside EnableManagedSpotTraining; allowed: one of the two",
                fix="Remove KeepAlivePeriodInSeconds, or use on-demand capacity",
            )
