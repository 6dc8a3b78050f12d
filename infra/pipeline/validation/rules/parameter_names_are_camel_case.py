"""Parameter names are CamelCase letters and digits.

Whoever starts a pipeline types them; they are public, and one style is easier to remember.
"""

import re
from collections.abc import Iterator
from typing import Final

from infra.pipeline.validation.document import Definition
from infra.pipeline.validation.problem import Problem
from infra.pipeline.validation.wording import shown

ID: Final = "parameter-name"
PATTERN: Final = re.compile(r"[A-Z][A-Za-z0-9]{0,255}")


def check(definition: Definition) -> Iterator[Problem]:
    """Judge the names of parameters."""
    for parameter in definition.parameters:
        if parameter.name and not PATTERN.fullmatch(parameter.name):
            words = re.split(r"[^A-Za-z0-9]+", parameter.name)
            name = "".join(word[:1].upper() + word[1:] for word in words)
            yield Problem(
                path=f"{parameter.path}.Name",
                rule=ID,
                wrong=f"{shown(parameter.name)}; allowed: letters and digits, a capital first",
                fix=f"Write {name!r}" if PATTERN.fullmatch(name) else "Rename it",
            )
