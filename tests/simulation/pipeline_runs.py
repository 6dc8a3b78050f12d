"""Runs of the real pipeline for tests, and copies of its assembly with a changed definition."""

import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from evenshard.simulator import Event, Result, SimulationRequest, simulate

Json = dict[str, Any]
Edit = Callable[[Json], None]
"""Changes a definition in place."""

_SMALL: Mapping[str, str] = {"Epochs": "1", "BatchSize": "8"}


@dataclass(frozen=True, kw_only=True)
class Run:
    """What came of one run."""

    result: Result
    events: list[Event]

    @property
    def document(self) -> Json:
        document: Json = json.loads((self.result.folder / "result.json").read_text("utf-8"))
        return document

    def step(self, name: str) -> Json:
        steps: list[Json] = [step for step in self.document["steps"] if step["name"] == name]
        assert len(steps) == 1, f"{name} ran {len(steps)} times"
        return steps[0]

    @property
    def step_names(self) -> list[str]:
        return [step["name"] for step in self.document["steps"]]


class RunPipeline(Protocol):
    """Runs the pipeline; what is given replaces fields of the request."""

    def __call__(self, **changes: object) -> Run: ...


def run_pipeline(fields: Mapping[str, Any]) -> Run:
    """Run in this process; `parameters` come on top of small ones."""
    given = dict(fields)
    given["parameters"] = {**_SMALL, **given.get("parameters", {})}
    events: list[Event] = []
    result = simulate(SimulationRequest(**{"framework": "pytorch", **given}), events.append)
    return Run(result=result, events=events)


def edit_definition(assembly: Path, target: Path, change: Edit) -> Path:
    """Copy an assembly and change its pipeline definition, CloudFormation tokens and all.

    The definition is a Fn::Join of text and tokens: the tokens are kept aside as markers.
    """
    shutil.copytree(assembly, target)
    for file in target.glob("*.template.json"):
        template = json.loads(file.read_text("utf-8"))
        for resource in template["Resources"].values():
            if resource["Type"] == "AWS::SageMaker::Pipeline":
                definition = resource["Properties"]["PipelineDefinition"]
                definition["PipelineDefinitionBody"] = _changed(
                    definition["PipelineDefinitionBody"], change
                )
        file.write_text(json.dumps(template), "utf-8")
    return target


def _changed(body: Json, change: Edit) -> Json:
    separator, parts = body["Fn::Join"]
    tokens = [part for part in parts if not isinstance(part, str)]
    marked = iter(f"@@{number}@@" for number in range(len(tokens)))
    text = separator.join(part if isinstance(part, str) else next(marked) for part in parts)
    document = json.loads(text)
    change(document)
    pieces = re.split(r"@@([0-9]+)@@", json.dumps(document))
    # Odd pieces are the numbers of tokens.
    restored = [tokens[int(piece)] if i % 2 else piece for i, piece in enumerate(pieces)]
    return {"Fn::Join": ["", restored]}


def step_of(definition: Json, name: str) -> Json:
    """A step outside the gate."""
    found: Json = next(step for step in definition["Steps"] if step["Name"] == name)
    return found


def with_hyperparameters(**values: str) -> Edit:
    """An edit that adds hyperparameters to Train."""

    def change(definition: Json) -> None:
        step_of(definition, "Train")["Arguments"]["HyperParameters"].update(values)

    return change
