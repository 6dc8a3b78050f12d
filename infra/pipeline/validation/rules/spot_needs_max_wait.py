"""Managed spot training says how long it may wait, and that is no less than it may run.

MaxWaitTimeInSeconds counts waiting and running (source: CreateTrainingJob, StoppingCondition).
"""

from collections.abc import Iterator
from typing import Final

from infra.pipeline.validation.document import TRAINING, Definition, as_mapping
from infra.pipeline.validation.problem import Problem

ID: Final = "spot-needs-max-wait"


def check(definition: Definition) -> Iterator[Problem]:
    """Judge stopping conditions of spot training steps."""
    for step in definition.of_kind(TRAINING):
        if step.argument("EnableManagedSpotTraining") is not True:
            continue
        path = f"{step.arguments_path}.StoppingCondition.MaxWaitTimeInSeconds"
        stopping = as_mapping(step.argument("StoppingCondition"))
        run_s, wait_s = stopping.get("MaxRuntimeInSeconds"), stopping.get("MaxWaitTimeInSeconds")
        if "MaxWaitTimeInSeconds" not in stopping:
            yield Problem(
                path=path,
                rule=ID,
                wrong="MaxWaitTimeInSeconds is missing; managed spot training requires it",
                fix="Add it, MaxRuntimeInSeconds or more",
            )
        elif isinstance(run_s, int) and isinstance(wait_s, int) and wait_s < run_s:
            yield Problem(
                path=path,
                rule=ID,
                wrong=f"{wait_s} s is less than MaxRuntimeInSeconds, {run_s} s; it counts both "
                "waiting and running",
                fix=f"Give {run_s} or more",
            )
