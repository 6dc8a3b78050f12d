"""The service model's regular expressions, which are written for Java, in Python."""

import re
from functools import cache
from typing import Final

# Python's re has no \p{...}. Inside a character class, where the model uses them, these come
# close enough; patterns with other classes (marks, symbols, punctuation) are not checked.
CLASSES: Final = {
    r"\p{L}": r"\w",
    r"\p{N}": r"\w",
    r"\p{Z}": r"\s",
    r"\p{Alnum}": "A-Za-z0-9",
}


@cache
def compiled(pattern: str) -> re.Pattern[str] | None:
    """The pattern for a full match, None where Python cannot express it.

    `.` also matches a line break: whether it does in the service is documented nowhere, and a
    value is refused here only where it is certainly wrong.
    """
    for java, python in CLASSES.items():
        pattern = pattern.replace(java, python)
    try:
        return re.compile(pattern, re.DOTALL)
    except re.error:
        return None
