"""Steps that call SageMaker are tried again when the service is busy or fails.

Without retry policies one throttled call ends an execution whose training took days.
"""

from collections.abc import Iterator
from typing import Final

from infra.pipeline.validation.document import Definition
from infra.pipeline.validation.problem import Problem
from infra.pipeline.validation.structure import RETRIED_TYPES

ID: Final = "step-needs-retries"


def check(definition: Definition) -> Iterator[Problem]:
    """Judge the steps that may have retry policies."""
    for step in definition.of_kind(*RETRIED_TYPES):
        if not step.raw.get("RetryPolicies"):
            yield Problem(
                path=f"{step.path}.RetryPolicies",
                rule=ID,
                wrong="there are none: one throttled call would end the execution",
                fix="Add policies for Step.SERVICE_FAULT and Step.THROTTLING at least",
            )
