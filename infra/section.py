"""What the tables of a settings file have in common."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

LogDays = Literal[7, 30, 90, 180, 365]
"""Days that a log is kept; CloudWatch Logs offers certain numbers only."""


class Section(BaseModel):
    """Frozen, with no key that is not known, and no value turned from one type into another."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True
    )
