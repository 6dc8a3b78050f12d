"""What the validator says, and the error that carries it."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing in a definition that SageMaker would refuse, or that this project refuses."""

    path: str
    """Where: `Steps.Train.Arguments.ResourceConfig.InstanceCount`. Steps go by name."""
    rule: str
    """Id of the rule that is broken, in kebab-case."""
    wrong: str
    """What was given and what is allowed."""
    fix: str
    """What to do."""

    def __str__(self) -> str:
        """One line: path, what is wrong, what to do, rule id."""
        return f"{self.path}: {self.wrong}. {self.fix}. [{self.rule}]"


class DefinitionError(ValueError):
    """A pipeline definition has problems; all of them are listed."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        """Keep the problems, and write one line for each."""
        self.problems = tuple(problems)
        count = len(self.problems)
        title = f"The pipeline definition has {count} problem{'' if count == 1 else 's'}:"
        super().__init__("\n".join([title, *(f"  {problem}" for problem in self.problems)]))
