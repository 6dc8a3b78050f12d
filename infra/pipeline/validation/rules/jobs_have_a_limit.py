"""Every job says how long it may run.

Without MaxRuntimeInSeconds a job that hangs is paid for until SageMaker's own limit, days later.
"""

from collections.abc import Iterator
from typing import Final

from infra.pipeline.validation.document import PROCESSING, TRAINING, Definition
from infra.pipeline.validation.problem import Problem

ID: Final = "job-needs-limit"
# A training job without one is refused by the API, which is said elsewhere.
_ABSENT: Final[dict[str, object]] = {TRAINING: None, PROCESSING: {}}


def check(definition: Definition) -> Iterator[Problem]:
    """Judge training and processing steps."""
    for step in definition.of_kind(TRAINING, PROCESSING):
        stopping = step.arguments.get("StoppingCondition", _ABSENT[step.kind])
        if isinstance(stopping, dict) and "MaxRuntimeInSeconds" not in stopping:
            yield Problem(
                path=f"{step.arguments_path}.StoppingCondition.MaxRuntimeInSeconds",
                rule=ID,
                wrong="MaxRuntimeInSeconds is missing; a job that hangs would be paid for days",
                fix="Give the seconds after which the job is stopped",
            )
