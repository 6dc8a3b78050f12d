"""What the tables of a settings file have in common."""

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

_IN_A_KEY: Final = "A-Za-z0-9_./=+@-"
_IN_A_VALUE: Final = f":{_IN_A_KEY}"
# No space at either end: some services cut it off, others refuse it.
TagKey = Annotated[
    str, Field(pattern=rf"^[{_IN_A_KEY}]([ {_IN_A_KEY}]*[{_IN_A_KEY}])?$", max_length=128)
]
"""No colon: `aws:` and `evenshard:` are taken."""
TagValue = Annotated[
    str, Field(pattern=rf"^([{_IN_A_VALUE}]([ {_IN_A_VALUE}]*[{_IN_A_VALUE}])?)?$", max_length=256)
]

LogDays = Literal[7, 30, 90, 180, 365]
"""Days that a log is kept; CloudWatch Logs offers certain numbers only."""


def _named_once(given: tuple[str, ...]) -> tuple[str, ...]:
    for name in given:
        if given.count(name) > 1:
            raise ValueError(f"{name!r} is named twice. Name each once.")
    return given


NamedOnce: Final = AfterValidator(_named_once)
"""Of a list: two of the same would be one resource made twice."""


class Section(BaseModel):
    """Frozen, with no key that is not known, and no value turned from one type into another."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True
    )
