"""Every mistake of the table is refused, once, at its place, with what to do."""

import pytest

from infra.pipeline.validation import DefinitionError, check, problems
from tests.definition.documents import baseline
from tests.definition.mutations import MUTATIONS, Mutation


def test_baseline_has_no_problems() -> None:
    assert problems(baseline()) == []


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_mistake_gives_exactly_one_problem(mutation: Mutation) -> None:
    definition = baseline()
    mutation.make(definition)

    found = problems(definition)

    assert [(problem.path, problem.rule) for problem in found] == [(mutation.path, mutation.rule)]
    assert mutation.fix in found[0].fix
    with pytest.raises(DefinitionError) as error:
        check(definition)
    assert mutation.path in str(error.value)
    assert mutation.fix in str(error.value)


def test_all_mistakes_are_reported_together() -> None:
    definition = baseline()
    chosen = [m for m in MUTATIONS if m.name in ("unknown key", "wrong default type", "cycle")]
    for mutation in chosen:
        mutation.make(definition)

    with pytest.raises(DefinitionError, match="3 problems") as error:
        check(definition)

    assert {problem.rule for problem in error.value.problems} == {m.rule for m in chosen}


def test_a_problem_reads_as_path_mistake_and_fix() -> None:
    definition = baseline()
    definition["Parameters"][4]["DefaultValue"] = "2"

    (problem,) = problems(definition)

    assert str(problem) == (
        "Parameters.InstanceCount.DefaultValue: '2' is a string; allowed: a value of type Integer. "
        "Give a value of type Integer, or change Type. [parameter-default-type]"
    )
