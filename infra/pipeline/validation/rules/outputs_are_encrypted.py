"""What jobs write is encrypted with a key that the definition names.

Without one, objects get the bucket's default, which whoever owns the bucket may change.
"""

from collections.abc import Iterator
from typing import Final

from infra.pipeline.validation.document import PROCESSING, TRAINING, Definition
from infra.pipeline.validation.problem import Problem

ID: Final = "output-needs-key"
OUTPUTS: Final = ((TRAINING, "OutputDataConfig"), (PROCESSING, "ProcessingOutputConfig"))


def check(definition: Definition) -> Iterator[Problem]:
    """Judge where training and processing steps write to."""
    for kind, output in OUTPUTS:
        for step in definition.of_kind(kind):
            if step.argument(output) is not None and step.argument(output, "KmsKeyId") is None:
                yield Problem(
                    path=f"{step.arguments_path}.{output}.KmsKeyId",
                    rule=ID,
                    wrong="KmsKeyId is missing; allowed: outputs with a key of our own",
                    fix="Name the key of the bucket",
                )
