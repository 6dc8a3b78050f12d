"""Reads a synthesized cloud assembly: templates, assets and the pipeline definition in it."""

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from evenshard.errors import RefusedError, UsageError
from evenshard.repository import ROOT
from evenshard.simulator.deployment.functions import FunctionCode
from evenshard.simulator.deployment.intrinsics import Resolver, Template
from evenshard.simulator.errors import DefinitionError
from evenshard.simulator.processes import clean_environment, run_to_end

_PIPELINE_TYPE: Final = "AWS::SageMaker::Pipeline"
_FUNCTION_TYPE: Final = "AWS::Lambda::Function"
_MANIFEST: Final = "manifest.json"
_STACK: Final = "aws:cloudformation:stack"
_SHOWN_LINES: Final = 15
_AGAIN: Final = "Synthesize the assembly again."


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """The pipeline of one framework, as the assembly holds it."""

    name: str
    body: str
    """The definition, the very string that is deployed, intrinsic functions resolved."""


class Assembly:
    """A cloud assembly folder. Nested assemblies (Stage) are not read."""

    def __init__(self, folder: Path) -> None:
        """Read every template of a folder.

        Raises:
            UsageError: there is no assembly in the folder.
        """
        self.folder = folder
        if not (folder / _MANIFEST).is_file():
            raise UsageError(
                f"no cloud assembly in {folder}: it holds {_listing(folder)}. Name a folder that "
                f"`cdk synth` filled (it has a {_MANIFEST}), or leave --assembly out to "
                "synthesize afresh."
            )
        try:
            self._templates: Mapping[str, Template] = dict(_templates(folder))
        except (AttributeError, KeyError, TypeError) as error:
            raise UsageError(
                f"{folder / _MANIFEST} is not as `cdk synth` writes it. {_AGAIN}"
            ) from error
        self.resolver = Resolver(self._templates)

    def pipeline(self, framework: str) -> Pipeline:
        """Find the pipeline whose name ends in `-<framework>`.

        Raises:
            UsageError: there is no such pipeline.
            DefinitionError: its definition cannot be resolved.
        """
        names: list[str] = []
        for stack, logical_id, resource in self._resources(_PIPELINE_TYPE):
            properties = resource.get("Properties", {})
            name = self.resolver.text(properties.get("PipelineName"), stack, logical_id)
            names.append(name)
            if name.endswith(f"-{framework}"):
                return Pipeline(name=name, body=self._body(properties, stack, name))
        found = ", ".join(names) or "none"
        raise UsageError(
            f"--framework {framework}: no pipeline's name ends in -{framework}. The pipelines are: "
            f"{found}. Choose --framework accordingly, or name another --assembly."
        )

    def function(self, arn: str, path: str) -> FunctionCode:
        """Find the code of a Lambda function.

        Raises:
            DefinitionError: no such function, or its code is not an asset of the assembly.
        """
        found = self.resolver.resource_by_arn(arn, _FUNCTION_TYPE)
        if found is None:
            raise DefinitionError(
                path, f"no Lambda function in the assembly has the ARN {arn}. Define it there."
            )
        stack, resource = found
        resolved = self.resolver.resolve(
            {
                key: resource["Properties"].get(key)
                for key in ("Code", "Handler", "Environment", "Timeout")
            },
            stack,
            path,
        )
        properties: dict[str, Any] = resolved if isinstance(resolved, dict) else {}
        return FunctionCode(
            name=arn.rpartition(":")[2],
            folder=self._asset_folder(properties["Code"], path),
            handler=properties["Handler"],
            environment=(properties["Environment"] or {}).get("Variables", {}),
            limit_s=int(properties["Timeout"] or 3),  # 3 s is what Lambda sets itself
        )

    def _resources(self, kind: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        for stack, template in self._templates.items():
            for logical_id, resource in template.get("Resources", {}).items():
                if resource.get("Type") == kind:
                    yield stack, logical_id, resource

    def _body(self, properties: Mapping[str, Any], stack: str, name: str) -> str:
        definition = properties.get("PipelineDefinition")
        if not isinstance(definition, dict) or "PipelineDefinitionBody" not in definition:
            raise DefinitionError(
                f"{name}.PipelineDefinition",
                f"holds {_keys(definition)}. Only PipelineDefinitionBody, the "
                "definition inside the template, is simulated.",
            )
        return self.resolver.text(definition["PipelineDefinitionBody"], stack, name)

    def _asset_folder(self, code: Mapping[str, Any], path: str) -> Path:
        key = code.get("S3Key")
        for file in sorted(self.folder.glob("*.assets.json")):
            for asset in _read_json(file).get("files", {}).values():
                keys = [place.get("objectKey") for place in asset["destinations"].values()]
                if key in keys:
                    return self.folder / str(asset["source"]["path"])
        raise DefinitionError(
            path, f"the function's code {key!r} is no asset of the assembly {self.folder}."
        )


def synthesize(folder: Path) -> Assembly:
    """Run app.py afresh and read what it writes.

    Args:
        folder: where the assembly goes; made if missing.

    Raises:
        RefusedError: app.py failed; its own words are in the message.
    """
    app = ROOT / "app.py"
    if not app.is_file():
        raise UsageError(f"no CDK app at {app}. Name a synthesized assembly with --assembly DIR.")
    folder.mkdir(parents=True, exist_ok=True)
    done = run_to_end(
        [sys.executable, str(app)],
        environment=_synthesis_environment(folder.resolve()),
        working_directory=ROOT,
    )
    if done.returncode != 0:
        words = "\n".join(done.stdout.strip().splitlines()[-_SHOWN_LINES:])
        raise RefusedError(f"{app} could not be synthesized:\n{words}")
    return Assembly(folder)


def _templates(folder: Path) -> Iterator[tuple[str, Template]]:
    """The stacks of an assembly: name and template."""
    for name, artifact in _read_json(folder / _MANIFEST).get("artifacts", {}).items():
        if artifact.get("type") == _STACK:
            properties = artifact["properties"]
            file = folder / properties["templateFile"]
            template = _read_json(file)
            _check_template(template, file)
            yield properties.get("stackName", name), template


def _check_template(template: Template, file: Path) -> None:
    for section in ("Parameters", "Resources", "Outputs"):
        entries = template.get(section, {})
        if not isinstance(entries, dict) or not all(isinstance(e, dict) for e in entries.values()):
            raise UsageError(f"{file}: {section} is no object of objects. {_AGAIN}")
    for name, resource in template.get("Resources", {}).items():
        if not isinstance(resource.get("Properties", {}), dict):
            raise UsageError(f"{file}: Properties of {name} is no object. {_AGAIN}")


def _synthesis_environment(folder: Path) -> dict[str, str]:
    environment = clean_environment() | {
        "CDK_OUTDIR": str(folder),
        # CloudFormation's own checks cost seconds and run in `make synth` and `make check`.
        "CDK_VALIDATION": "false",
    }
    node = Path(sys.executable).parent / "node"
    if node.exists():
        environment["JSII_NODE"] = str(node)
    return environment


def _read_json(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{file} cannot be read as JSON: {error}. {_AGAIN}") from error
    if not isinstance(content, dict):
        raise UsageError(f"{file} is not a JSON object. {_AGAIN}")
    return content


def _keys(value: object) -> str:
    return (", ".join(value) if isinstance(value, dict) else "") or "nothing"


def _listing(folder: Path) -> str:
    if not folder.is_dir():
        return "nothing, for there is no such folder"
    names = sorted(entry.name for entry in folder.iterdir())
    shown = ", ".join(names[:_SHOWN_LINES])
    return f"{shown}, ..." if len(names) > _SHOWN_LINES else shown or "nothing"
