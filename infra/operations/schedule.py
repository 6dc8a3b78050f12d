"""Schedule expressions, as EventBridge takes them: else the stack's deployment would fail."""

import re
from dataclasses import dataclass
from typing import Final

_RATE: Final = re.compile(r"rate\(([1-9][0-9]{0,4}) (minute|hour|day)(s?)\)")
_CRON: Final = re.compile(r"cron\((\S+(?: \S+){5})\)")
_EXAMPLES: Final = "Allowed: rate(7 days), rate(1 hour), cron(0 3 ? * MON *) and the like, in UTC."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Field:
    """One of cron's six."""

    name: str
    least: int
    most: int
    words: tuple[str, ...] = ()
    """That may stand for numbers."""
    alone: str = ""
    """Pattern of what may stand in place of a list."""

    def takes(self, given: str) -> bool:
        """Whether it is a list of values, ranges and steps such as this field has."""
        if self.alone and re.fullmatch(self.alone, given):
            return True
        return all(map(self._takes, given.split(",")))

    def _takes(self, part: str) -> bool:
        value, slash, step = part.partition("/")
        if slash and not re.fullmatch(r"[1-9][0-9]*", step):
            return False
        if value == "*":
            return True
        ends = [self._number(one) for one in value.split("-")]
        numbers = [one for one in ends if one is not None]
        return len(ends) <= 2 and numbers == ends and numbers == sorted(numbers)  # noqa: PLR2004 - a range

    def _number(self, value: str) -> int | None:
        if value in self.words:
            return self.least + self.words.index(value)
        known = value.isascii() and value.isdecimal() and self.least <= int(value) <= self.most
        return int(value) if known else None


_MONTHS: Final = (
    *("JAN", "FEB", "MAR", "APR", "MAY", "JUN"),
    *("JUL", "AUG", "SEP", "OCT", "NOV", "DEC"),
)
_DAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_FIELDS: Final = (
    _Field(name="minutes", least=0, most=59),
    _Field(name="hours", least=0, most=23),
    _Field(
        name="the day of the month", least=1, most=31, alone=r"\?|L|LW|([1-9]|[12][0-9]|3[01])W"
    ),
    _Field(name="the month", least=1, most=12, words=_MONTHS),
    _Field(
        name="the day of the week",
        least=1,
        most=7,
        words=_DAYS,
        alone=rf"\?|L|[1-7]L|([1-7]|{'|'.join(_DAYS)})#[1-5]",
    ),
    _Field(name="the year", least=1970, most=2199),
)
_MONTH_DAY, _WEEK_DAY = 2, 4


def checked_schedule(given: str) -> str:
    """The expression itself.

    Raises:
        ValueError: EventBridge would refuse it; what is wrong, and examples.
    """
    if rate := _RATE.fullmatch(given):
        number, unit, plural = rate.groups()
        if (number == "1") == bool(plural):
            right = unit if plural else f"{unit}s"
            raise ValueError(f"{given} is none: write rate({number} {right}). {_EXAMPLES}")
        return given
    if cron := _CRON.fullmatch(given):
        _check_fields(given, cron[1].split(" "))
        return given
    raise ValueError(f"{given!r} is no schedule. {_EXAMPLES}")


def _check_fields(given: str, values: list[str]) -> None:
    for field, value in zip(_FIELDS, values, strict=True):
        if not field.takes(value):
            raise ValueError(f"{given}: {value!r} is no value for {field.name}. {_EXAMPLES}")
    if (values[_MONTH_DAY] == "?") == (values[_WEEK_DAY] == "?"):
        raise ValueError(
            f"{given}: of the days of the month and of the week exactly one must be '?', since "
            f"the other one decides. {_EXAMPLES}"
        )
