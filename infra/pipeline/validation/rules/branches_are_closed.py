"""No step outside a condition's branch reads or waits for a step inside it.

SageMaker takes such a definition, but a step starts only when all steps it depends on have
finished: when the condition takes the other branch, the reader never runs (source:
sagemaker-python-sdk#3565).
"""

from collections.abc import Iterator
from typing import Final

from infra.pipeline.validation.document import CONDITION, FAIL, Definition
from infra.pipeline.validation.graph import reachable_from, steps_read_by
from infra.pipeline.validation.problem import Problem

ID: Final = "branch-read-from-outside"


def check(definition: Definition) -> Iterator[Problem]:
    """Judge who reads the steps of branches."""
    for step in definition.steps:
        for name in dict.fromkeys([*step.depends_on, *steps_read_by(step)]):
            target = definition.step_by_name.get(name)
            # Reading those is refused whoever does it.
            if target is None or target.kind in (CONDITION, FAIL):
                continue
            if not reachable_from(step, target):
                condition, side = target.branch[-1]
                yield Problem(
                    path=step.path,
                    rule=ID,
                    wrong=f"it depends on {name}, which runs only in {side} of {condition}; "
                    "allowed: steps outside of branches, or of the same branch",
                    fix=f"Move {step.name} beside {name}, or read a step before {condition}",
                )
