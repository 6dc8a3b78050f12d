"""Judges a rendered pipeline definition before it is deployed.

SageMaker validates a definition only when the pipeline is created, and much of it only when a
step starts, hours later. Here botocore's service model is the judge, and what it cannot know is
in the modules beside it; `rules` holds what this project refuses on its own account.

    check(definition)     # raises DefinitionError, which lists every problem
    problems(definition)  # the same as a list

A definition is plain JSON data. Strings may contain CDK tokens, whose text only CloudFormation
knows: their type is judged, their text is not.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from infra.pipeline.validation.arguments import check_arguments
from infra.pipeline.validation.completeness import check_completeness
from infra.pipeline.validation.conditions import check_conditions
from infra.pipeline.validation.document import Definition
from infra.pipeline.validation.experiment import check_experiment
from infra.pipeline.validation.graph import check_graph
from infra.pipeline.validation.invocations import check_invocations
from infra.pipeline.validation.parameters import check_parameters
from infra.pipeline.validation.problem import DefinitionError, Problem
from infra.pipeline.validation.retry import check_retry_policies
from infra.pipeline.validation.rules import check_rules
from infra.pipeline.validation.structure import check_definition, check_steps

__all__ = ["DefinitionError", "Problem", "check", "problems"]

JUDGES: Final[tuple[Callable[[Definition], Iterator[Problem]], ...]] = (
    check_definition,
    check_experiment,
    check_parameters,
    check_steps,
    check_graph,
    check_arguments,
    check_completeness,
    check_conditions,
    check_invocations,
    check_retry_policies,
    check_rules,
)


def problems(definition: Mapping[str, object]) -> list[Problem]:
    """Everything wrong with a definition, in the order in which the judges look."""
    document = Definition.read(definition)
    found = (problem for judge in JUDGES for problem in judge(document))
    # A parameter that two fields read is judged twice.
    return list(dict.fromkeys(found))


def check(definition: Mapping[str, object]) -> None:
    """Refuse a definition that has problems.

    Raises:
        DefinitionError: Listing every problem with its path and what to do.
    """
    found = problems(definition)
    if found:
        raise DefinitionError(found)
