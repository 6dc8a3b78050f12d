"""Jobs run without a network of their own and without credentials.

Containers hold code of many hands; isolated, they can neither fetch nor send anything. SageMaker
moves inputs, outputs, logs and metrics for them.
"""

from collections.abc import Iterator
from typing import Final

from infra.pipeline.validation.document import PROCESSING, TRAINING, Definition
from infra.pipeline.validation.problem import Problem
from infra.pipeline.validation.references import is_expression
from infra.pipeline.validation.wording import shown

ID: Final = "job-isolated"
SWITCHES: Final = (
    (TRAINING, ("EnableNetworkIsolation",)),
    (PROCESSING, ("NetworkConfig", "EnableNetworkIsolation")),
)


def check(definition: Definition) -> Iterator[Problem]:
    """Judge training and processing steps."""
    for kind, switch in SWITCHES:
        for step in definition.of_kind(kind):
            given = step.argument(*switch)
            # Other types are no booleans, which is said elsewhere.
            if given in (None, False) or is_expression(given):
                yield Problem(
                    path=".".join([step.arguments_path, *switch]),
                    rule=ID,
                    wrong=f"{'missing' if given is None else shown(given)}; allowed: true, not "
                    "left to an execution",
                    fix="Write true; calls to AWS belong in a Lambda step",
                )
