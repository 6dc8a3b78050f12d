"""The order of the steps: a graph drawn by DependsOn and by what steps read of each other."""

from collections.abc import Iterator, Mapping
from typing import Final

from evenshard.simulator.errors import DefinitionError
from evenshard.simulator.pipeline.definition import CONDITION, Definition, Step
from evenshard.simulator.pipeline.expressions import Reference, property_file_of, references

EXECUTION_VARIABLES: Final = (
    "CurrentDateTime",
    "PipelineArn",
    "PipelineExecutionArn",
    "PipelineExecutionId",
    "PipelineName",
    "StartDateTime",
)


def run_order(definition: Definition) -> tuple[Step, ...]:
    """Sort the steps so that each comes after all that it needs, else as the text has them.

    Steps of a branch come after their Condition; whether they run is decided there.

    Raises:
        DefinitionError: a cycle, or a reference to something that does not exist.
    """
    needs = {step.name: _needs(step, definition) for step in definition.steps}
    ordered: list[Step] = []
    done: set[str] = set()
    waiting = list(definition.steps)
    while waiting:
        step = next((step for step in waiting if needs[step.name] <= done), None)
        if step is None:
            names = ", ".join(step.name for step in waiting)
            raise DefinitionError("Steps", f"{names} wait for each other. Break the cycle.")
        waiting.remove(step)
        done.add(step.name)
        ordered.append(step)
    return tuple(ordered)


def _needs(step: Step, definition: Definition) -> set[str]:
    names = {needed.name for needed in _named_steps(step, definition)}
    return names | ({step.branch.gate} if step.branch else set())


def _named_steps(step: Step, definition: Definition) -> Iterator[Step]:
    for index, name in enumerate(step.depends_on):
        yield _known_step(name, step, definition, f"{step.path}.DependsOn[{index}]")
    fields = {"FunctionArn": step.fields.get("FunctionArn"), "Arguments": step.arguments}
    for field, value in fields.items():
        for reference, path in references(value, f"{step.path}.{field}"):
            if reference.root == "Steps":
                needed = _known_step(reference.name, step, definition, path)
                _check_output(reference, needed, path)
                yield needed
            else:
                _check_name(reference, definition, path)


def _known_step(name: str, step: Step, definition: Definition, path: str) -> Step:
    needed = definition.step(name)
    if needed is None:
        known = ", ".join(other.name for other in definition.steps)
        raise DefinitionError(path, f"there is no step {name!r}. The steps are {known}.")
    if needed.type == CONDITION:
        raise DefinitionError(
            path, f"{name} is a Condition step, on which SageMaker lets nothing depend."
        )
    if needed.branch is not None and needed.branch != step.branch:
        raise DefinitionError(
            path, f"{name} runs only in one branch of {needed.branch.gate}, so it may be missing."
        )
    return needed


def _check_output(reference: Reference, needed: Step, path: str) -> None:
    match reference.rest:
        case ("OutputParameters", str(name)) if name not in needed.output_names():
            known = ", ".join(needed.output_names()) or "none"
            raise DefinitionError(
                path, f"{needed.name} has no output parameter {name!r}. It has {known}."
            )
        case ("PropertyFiles", *_):
            _, file = property_file_of(reference, path)
            if needed.property_file(file) is None:
                raise DefinitionError(path, f"{needed.name} declares no property file {file!r}.")
        case _:
            return


def _check_name(reference: Reference, definition: Definition, path: str) -> None:
    names: Mapping[str, tuple[str, ...]] = {
        "Parameters": tuple(declared.name for declared in definition.parameters),
        "Execution": EXECUTION_VARIABLES,
    }
    allowed = names[reference.root]
    if reference.name not in allowed:
        listing = ", ".join(allowed) or "none"
        raise DefinitionError(
            path, f"there is no {reference.root}.{reference.name}. There are {listing}."
        )
