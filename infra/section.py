"""What the tables of a settings file have in common."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

TagKey = Annotated[str, Field(pattern=r"^[A-Za-z0-9_ ./=+@-]{1,128}$")]
"""No colon: `aws:` and `evenshard:` are taken."""
TagValue = Annotated[str, Field(pattern=r"^[A-Za-z0-9_ .:/=+@-]{0,256}$")]

LogDays = Literal[7, 30, 90, 180, 365]
"""Days that a log is kept; CloudWatch Logs offers certain numbers only."""


class Section(BaseModel):
    """Frozen, with no key that is not known, and no value turned from one type into another."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True
    )
