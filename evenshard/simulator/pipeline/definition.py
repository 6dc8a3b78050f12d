"""The pipeline definition, checked as a whole before anything runs."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from evenshard.simulator.errors import DefinitionError
from evenshard.simulator.pipeline.parameters import Declaration, declarations
from evenshard.simulator.pipeline.shapes import check
from evenshard.simulator.pipeline.step_shapes import DEFINITION, STEP_FIELDS, STEP_TYPES

CONDITION: Final = "Condition"
_BRANCHES: Final = {"IfSteps": True, "ElseSteps": False}


@dataclass(frozen=True, slots=True)
class Branch:
    """The side of a Condition step on which a step lies."""

    gate: str
    outcome: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step, its fields checked and its expressions not yet evaluated."""

    name: str
    type: str
    path: str
    """Where it stands, for messages: `Steps.Train`."""
    fields: Mapping[str, Any]
    """The whole step as the definition holds it, the branches of a Condition left out."""
    branch: Branch | None = None

    @property
    def arguments(self) -> Mapping[str, Any]:
        """Its Arguments; empty where it has none."""
        arguments: Mapping[str, Any] = self.fields.get("Arguments", {})
        return arguments

    @property
    def depends_on(self) -> Sequence[str]:
        """Steps that it names in DependsOn."""
        names: Sequence[str] = self.fields.get("DependsOn", [])
        return names

    def property_file(self, name: str) -> Mapping[str, str] | None:
        """The declaration of one of its property files."""
        files: Sequence[Mapping[str, str]] = self.fields.get("PropertyFiles", [])
        return next((file for file in files if file["PropertyFileName"] == name), None)

    def output_names(self) -> list[str]:
        """The output parameters of a Lambda step."""
        return [output["OutputName"] for output in self.fields.get("OutputParameters", [])]


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A pipeline definition."""

    parameters: tuple[Declaration, ...]
    steps: tuple[Step, ...]
    """Flat and in the order of the text: a Condition step, then the steps of its branches."""

    def step(self, name: str) -> Step | None:
        """Find a step by name."""
        return next((step for step in self.steps if step.name == name), None)


def read_definition(body: str) -> Definition:
    """Read and check a definition.

    Raises:
        DefinitionError: naming the first place that is wrong or not simulated.
    """
    try:
        document = json.loads(body)
    except ValueError as error:
        raise DefinitionError("definition", f"not JSON: {error}.") from error
    check(document, DEFINITION, "definition")
    steps = tuple(_flat(document["Steps"], "Steps", None))
    _check_unique_names(steps)
    return Definition(parameters=declarations(document.get("Parameters", [])), steps=steps)


def _flat(steps: Sequence[Any], path: str, branch: Branch | None) -> Iterator[Step]:
    for index, raw in enumerate(steps):
        place = f"{path}[{index}]"
        step = _step(raw, place, branch)
        inner = {key: step.arguments.get(key, []) for key in _BRANCHES}
        if step.type == CONDITION:
            outer = {k: v for k, v in step.arguments.items() if k not in _BRANCHES}
            fields = {**step.fields, "Arguments": outer}
            yield Step(name=step.name, type=step.type, path=step.path, fields=fields, branch=branch)
            for key, outcome in _BRANCHES.items():
                where = f"{step.path}.Arguments.{key}"
                yield from _flat(inner[key], where, Branch(step.name, outcome))
        else:
            yield step


def _step(raw: Any, place: str, branch: Branch | None) -> Step:  # noqa: ANN401 - JSON
    for field in ("Name", "Type"):
        if not isinstance(raw, dict) or not isinstance(raw.get(field), str):
            raise DefinitionError(place, f"a step needs a {field}, a string. Add it.")
    kind = raw["Type"]
    path = f"Steps.{raw['Name']}"
    if kind not in STEP_TYPES:
        allowed = ", ".join(STEP_TYPES)
        raise DefinitionError(
            f"{path}.Type", f"steps of type {kind} are not simulated. Those of {allowed} are."
        )
    if kind == CONDITION and branch is not None:
        raise DefinitionError(
            path, "a Condition step inside a Condition step. SageMaker refuses it: use one gate."
        )
    check(raw, STEP_FIELDS[kind], path)
    return Step(name=raw["Name"], type=kind, path=path, fields=raw, branch=branch)


def _check_unique_names(steps: Sequence[Step]) -> None:
    seen: set[str] = set()
    for step in steps:
        if step.name in seen:
            raise DefinitionError(
                step.path,
                "two steps have this name. Names must differ, across branches too: rename one.",
            )
        seen.add(step.name)
