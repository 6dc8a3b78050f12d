"""Names and order of steps: duplicates, dependencies, nesting, cycles."""

from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

from infra.pipeline.validation.document import BRANCH_KEYS, CONDITION, FAIL, Definition, Step
from infra.pipeline.validation.problem import Problem
from infra.pipeline.validation.references import gets_in, step_read_by
from infra.pipeline.validation.wording import allowed, rename_fix


def check_graph(definition: Definition) -> Iterator[Problem]:
    """Judge the graph of steps."""
    yield from _duplicates(definition)
    yield from _nested_conditions(definition)
    for step in definition.steps:
        yield from _dependencies(definition, step)
    yield from _cycle(definition)


def steps_read_by(step: Step) -> list[str]:
    """Names of the steps that a step reads, not counting what its branches read."""
    own = {key: value for key, value in step.arguments.items() if key not in BRANCH_KEYS}
    arguments = own if step.kind == CONDITION else step.arguments
    names = [step_read_by(get) for get in gets_in(arguments)]
    return list(dict.fromkeys(name for name in names if name))


def reachable_from(reader: Step, read: Step) -> bool:
    """Whether the reader only runs where the other step has run: its branch or one around it."""
    return reader.branch[: len(read.branch)] == read.branch


def _duplicates(definition: Definition) -> Iterator[Problem]:
    for step in definition.steps:
        first = definition.step_by_name.get(step.name)
        if first and first is not step:
            yield Problem(
                path=f"{step.path}.Name",
                rule="duplicate-step",
                wrong=f"a step named {step.name!r} exists at {first.path}; names must be unique, "
                "also between the branches of a condition",
                fix="Rename one of them, or keep it in one place only",
            )


def _nested_conditions(definition: Definition) -> Iterator[Problem]:
    for step in definition.of_kind(CONDITION):
        if step.branch:
            outer, side = step.branch[-1]
            yield Problem(
                path=f"{step.path}.Type",
                rule="nested-condition",
                wrong=f"a condition inside {side} of {outer}; conditions cannot be nested",
                fix=f"Add its comparison to the Conditions of {outer}, which are all required",
            )


def _dependencies(definition: Definition, step: Step) -> Iterator[Problem]:
    names = step.depends_on
    for index, name in enumerate(names):
        path = f"{step.path}.DependsOn[{index}]"
        target = definition.step_by_name.get(name)
        if target is None:
            known = definition.step_by_name
            yield Problem(
                path=path,
                rule="unknown-step",
                wrong=f"there is no step {name!r}; {allowed(known)}",
                fix=rename_fix(name, known, "Name one of these steps"),
            )
        elif name in names[:index]:
            yield Problem(
                path=path,
                rule="duplicate-dependency",
                wrong=f"{name!r} is listed twice",
                fix="Remove one of them",
            )
        elif target.kind in (CONDITION, FAIL):
            yield _illegal_target(path, target)


def _illegal_target(path: str, target: Step) -> Problem:
    if target.kind == FAIL:
        return Problem(
            path=path,
            rule="depends-on-fail",
            wrong=f"{target.name} is a Fail step, which ends the execution",
            fix="Depend on the step before it",
        )
    return Problem(
        path=path,
        rule="depends-on-condition",
        wrong=f"{target.name} is a Condition step; nothing may depend on a condition",
        fix=f"Move this step into a branch of {target.name}, or depend on the step before it",
    )


def _cycle(definition: Definition) -> Iterator[Problem]:
    """The first cycle. Edges that are refused by themselves take no part in it."""
    predecessors = {
        step.name: list(_predecessors(definition, step))
        for step in definition.step_by_name.values()
    }
    try:
        TopologicalSorter(predecessors).prepare()
    except CycleError as error:
        names: list[str] = error.args[1][:-1]  # the last repeats the first
        order = list(predecessors)
        start = names.index(min(names, key=order.index))
        turn = [*names[start:], *names[:start]]
        yield Problem(
            path=definition.step_by_name[turn[0]].path,
            rule="cycle",
            wrong=f"the steps wait for each other: {' -> '.join([*turn, turn[0]])}",
            fix="Remove one of these references (Get or DependsOn)",
        )


def _predecessors(definition: Definition, step: Step) -> Iterator[str]:
    for name in dict.fromkeys([*step.depends_on, *steps_read_by(step)]):
        target = definition.step_by_name.get(name)
        if target and target.kind != CONDITION and reachable_from(step, target):
            yield name
    if step.branch and step.branch[-1][0] in definition.step_by_name:
        yield step.branch[-1][0]
