"""Hyperparameter values have at most 256 characters.

The service model allows 2,500 characters, the developer guide's quota is 256.
"""

from collections.abc import Iterator
from typing import Final

from infra.pipeline.validation.document import TRAINING, Definition, as_mapping, has_token
from infra.pipeline.validation.problem import Problem

ID: Final = "hyperparameter-value-length"
MOST_CHARACTERS: Final = 256


def check(definition: Definition) -> Iterator[Problem]:
    """Judge the literal hyperparameters of training steps."""
    for step in definition.of_kind(TRAINING):
        for name, value in as_mapping(step.argument("HyperParameters")).items():
            if isinstance(value, str) and len(value) > MOST_CHARACTERS and not has_token(value):
                yield Problem(
                    path=f"{step.arguments_path}.HyperParameters.{name}",
                    rule=ID,
                    wrong=f"{len(value)} characters; allowed: at most {MOST_CHARACTERS}",
                    fix="Put the value into a file of a channel and pass its name",
                )
