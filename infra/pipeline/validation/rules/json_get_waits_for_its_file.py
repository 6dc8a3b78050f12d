"""A condition that reads JSON by S3 URI names the step that writes it in DependsOn.

A property file orders the two steps by itself, an S3 URI does not: the condition would read the
file of an earlier execution, or none (source: the developer guide, "Pass data between steps").
"""

from collections.abc import Iterator
from typing import Final

from infra.pipeline.validation.document import CONDITION, Definition, inside
from infra.pipeline.validation.graph import steps_read_by
from infra.pipeline.validation.problem import Problem
from infra.pipeline.validation.references import JSON_GET

ID: Final = "json-get-without-dependency"


def check(definition: Definition) -> Iterator[Problem]:
    """Judge conditions that read JSON files by S3 URI."""
    for step in definition.of_kind(CONDITION):
        if step.depends_on or steps_read_by(step):
            continue
        for path, condition in step.items("Conditions"):
            for side in ("LeftValue", "RightValue", "QueryValue"):
                if inside(condition, side, JSON_GET, "S3Uri") is not None:
                    yield Problem(
                        path=f"{path}.{side}",
                        rule=ID,
                        wrong="it reads a file by S3 URI but the step waits for no other step",
                        fix="Name the step that writes the file in DependsOn",
                    )
