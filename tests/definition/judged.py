"""What the judge finds, in the form that most tests compare."""

from infra.pipeline.validation import problems
from tests.definition.documents import baseline
from tests.definition.edits import Json, put


def found_in(definition: Json) -> list[tuple[str, str]]:
    """Path and rule of every problem."""
    return [(problem.path, problem.rule) for problem in problems(definition)]


def after(path: str, value: Json) -> list[tuple[str, str]]:
    """Path and rule of every problem of the baseline once the value stands at the path."""
    definition = baseline()
    put(definition, path, value)
    return found_in(definition)
