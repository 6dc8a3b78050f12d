"""Checkpoints lie below a prefix that is one execution's own.

Trainers go on from what they find there: below a fixed prefix every execution would go on from the
last one's weights. An S3 prefix is a string prefix, so it ends in a slash.
"""

from collections.abc import Iterator
from typing import Final

from infra.pipeline.validation.document import TRAINING, Definition, as_list, has_token, inside
from infra.pipeline.validation.problem import Problem
from infra.pipeline.validation.references import JOIN, gets_in

ID: Final = "checkpoint-per-execution"
EXECUTION_ID: Final = "Execution.PipelineExecutionId"


def check(definition: Definition) -> Iterator[Problem]:
    """Judge the checkpoint configurations of training steps."""
    for step in definition.of_kind(TRAINING):
        uri = step.argument("CheckpointConfig", "S3Uri")
        path = f"{step.arguments_path}.CheckpointConfig.S3Uri"
        if uri is None:
            continue
        if EXECUTION_ID not in gets_in(uri):
            yield Problem(
                path=path,
                rule=ID,
                wrong="it is the same in every execution; allowed: a prefix with "
                f"{EXECUTION_ID}, since a training goes on from the checkpoints it finds",
                fix="Join the prefix with the execution's id",
            )
        elif not _ends_in_slash(uri):
            yield Problem(
                path=path,
                rule=ID,
                wrong="it does not end in a slash; S3 prefixes are string prefixes",
                fix="Add a slash at the end",
            )


def _ends_in_slash(uri: object) -> bool:
    """Whether the text ends so; what only an execution or CloudFormation knows may."""
    last = as_list(inside(uri, JOIN, "Values"))[-1:]
    value = last[0] if last else uri
    return has_token(value) or (isinstance(value, str) and value.endswith("/"))
