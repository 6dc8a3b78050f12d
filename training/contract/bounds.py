"""What a hyperparameter's type says beside its kind: which values are allowed, and whose it is."""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """The numbers that a hyperparameter may take."""

    minimum: float | None = None
    """The smallest allowed one."""
    above: float | None = None
    """Allowed ones are greater than this."""
    maximum: float | None = None
    """The largest allowed one."""

    def holds(self, number: float | str) -> bool:
        """Whether the number is allowed."""
        return not isinstance(number, str) and (
            (self.minimum is None or number >= self.minimum)
            and (self.above is None or number > self.above)
            and (self.maximum is None or number <= self.maximum)
        )

    def __str__(self) -> str:
        bounds = ((">=", self.minimum), (">", self.above), ("<=", self.maximum))
        return " and ".join(f"{sign} {bound}" for sign, bound in bounds if bound is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """The texts that a hyperparameter may be."""

    pattern: str
    """A regular expression that matches the whole text."""
    words: str
    """The same for people."""

    def holds(self, text: float | str) -> bool:
        """Whether the text is allowed."""
        return isinstance(text, str) and re.fullmatch(self.pattern, text) is not None

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True, slots=True)
class Only:
    """Marks a hyperparameter that one framework's trainer alone uses."""

    framework: str
    """One of `layout.FRAMEWORKS`."""
