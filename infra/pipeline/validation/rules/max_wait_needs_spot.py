"""MaxWaitTimeInSeconds goes with managed spot training only.

CreateTrainingJob refuses it otherwise, so spot cannot be switched by a pipeline parameter.
"""

from collections.abc import Iterator
from typing import Final

from infra.pipeline.validation.document import TRAINING, Definition, as_mapping
from infra.pipeline.validation.problem import Problem

ID: Final = "max-wait-needs-spot"


def check(definition: Definition) -> Iterator[Problem]:
    """Judge stopping conditions of training steps."""
    for step in definition.of_kind(TRAINING):
        stopping = as_mapping(step.argument("StoppingCondition"))
        spot = step.argument("EnableManagedSpotTraining")
        if "MaxWaitTimeInSeconds" in stopping and spot is not True:
            yield Problem(
                path=f"{step.arguments_path}.StoppingCondition.MaxWaitTimeInSeconds",
                rule=ID,
                wrong="MaxWaitTimeInSeconds is given; allowed: only beside "
                "EnableManagedSpotTraining true",
                fix="Remove it, or set EnableManagedSpotTraining to true",
            )
