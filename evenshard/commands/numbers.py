"""Options that take a number in a range, and say so when they get another."""

import math
import re
from collections.abc import Callable
from typing import Final

from evenshard.errors import UsageError

_WHOLE: Final = re.compile(r"[+-]?[0-9]+")


def whole_number(option: str, *, least: int, most: int | None = None) -> Callable[[str], int]:
    """Make the parser of an option that takes an integer.

    Args:
        option: as it is typed, `--hosts`.
        least: the smallest number allowed.
        most: the largest number allowed; None for no limit.
    """

    def parse(text: str) -> int:
        """Raises UsageError. A default comes here too, as the number that it is."""
        try:
            value = int(text) if _WHOLE.fullmatch(str(text)) else least - 1
        except ValueError:  # more digits than Python reads
            value = least - 1
        if value < least or (most is not None and value > most):
            raise _wrong(option, text, f"a whole number, {_range(least, most)}", least)
        return value

    return parse


def number(option: str, *, least: float, most: float) -> Callable[[str], float]:
    """Make the parser of an option that takes a number, decimals allowed.

    Args:
        option: as it is typed, `--skew`.
        least: the smallest number allowed.
        most: the largest number allowed.
    """

    def parse(text: str) -> float:
        """Raises UsageError."""
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not least <= value <= most:  # false for NaN too
            raise _wrong(option, text, f"a number, {_range(least, most)}", min(1, most))
        return value

    return parse


def _range(least: float, most: float | None) -> str:
    return f"{least:g} or more" if most is None else f"{least:g} to {most:g}"


def _wrong(option: str, text: str, allowed: str, example: float) -> UsageError:
    return UsageError(
        f"{option} {text} is not allowed. It takes {allowed}. Give, say, {option} {example:g}."
    )
