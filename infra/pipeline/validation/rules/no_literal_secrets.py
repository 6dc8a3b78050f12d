"""No secret is written into a definition, whose text many may read.

Judged are hyperparameters and environment variables: their names, and values that look like keys.
"""

import re
from collections.abc import Iterator
from typing import Final

from infra.pipeline.validation.document import PROCESSING, TRAINING, Definition, as_mapping
from infra.pipeline.validation.problem import Problem

ID: Final = "literal-secret"
NAMES: Final = re.compile(
    r"(^|[_-])(password|passwd|passphrase|secret|credentials?|token|api_?key|private_?key"
    r"|access_?key)($|[_-])",
    re.IGNORECASE,
)
VALUES: Final = re.compile(r"\b(AKIA|ASIA)[0-9A-Z]{16}\b|-----BEGIN [A-Z ]*PRIVATE KEY-----")
PLACES: Final = ("HyperParameters", "Environment")


def check(definition: Definition) -> Iterator[Problem]:
    """Judge the texts that training and processing steps hand to their containers."""
    for step in definition.of_kind(TRAINING, PROCESSING):
        for place in PLACES:
            for name, value in as_mapping(step.argument(place)).items():
                if isinstance(value, str) and value and _is_secret(name, value):
                    # The value is not repeated: messages end up in logs.
                    yield Problem(
                        path=f"{step.arguments_path}.{place}.{name}",
                        rule=ID,
                        wrong="it looks like a secret, and whoever may read the pipeline reads it",
                        fix="Keep it in Secrets Manager, or give it another name if it is none",
                    )


def _is_secret(name: str, value: str) -> bool:
    return NAMES.search(name) is not None or VALUES.search(value) is not None
