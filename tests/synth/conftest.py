"""Three synths in three folders; every test here reads what they wrote."""

import compileall
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.app_copy import copy_app
from training.contract.layout import PYTORCH

REPOSITORY_ROOT = Path(__file__).parents[2]
VENV_BIN = Path(sys.executable).parent


@dataclass(frozen=True, slots=True)
class Assembly:
    """A folder that a synth wrote."""

    path: Path

    def template(self, stack: str) -> dict[str, Any]:
        """One stack's template."""
        loaded: dict[str, Any] = json.loads(self.bytes_of(stack))
        return loaded

    def templates(self) -> dict[str, dict[str, Any]]:
        """Every stack's template, by the stack's deployed name."""
        artifacts = json.loads((self.path / "manifest.json").read_text())["artifacts"]
        stacks = [one for one in artifacts.values() if one["type"] == "aws:cloudformation:stack"]
        return {
            stack["properties"]["stackName"]: self.template(
                stack["properties"]["templateFile"].removesuffix(".template.json")
            )
            for stack in stacks
        }

    def bytes_of(self, stack: str) -> bytes:
        """The same, as written."""
        return (self.path / f"{stack}.template.json").read_bytes()

    def resources(self, stack: str, kind: str) -> list[dict[str, Any]]:
        """The resources of one type, `AWS::S3::Bucket` for instance."""
        found = self.template(stack)["Resources"].values()
        return [resource for resource in found if resource["Type"] == kind]

    def definition(self, framework: str = PYTORCH) -> dict[str, Any]:
        """A pipeline's definition, tokens written as `<GetAtt X.Arn>` and the like."""
        [pipeline] = [
            found
            for found in self.resources("Training", "AWS::SageMaker::Pipeline")
            if found["Properties"]["PipelineName"].endswith(f"-{framework}")
        ]
        body = pipeline["Properties"]["PipelineDefinition"]["PipelineDefinitionBody"]
        loaded: dict[str, Any] = json.loads(_text(body))
        return loaded

    def step(self, name: str, framework: str = PYTORCH) -> dict[str, Any]:
        """One step's arguments, those inside the gate included."""
        steps = list(self.definition(framework)["Steps"])
        gate = steps[-1]["Arguments"]
        [found] = [
            one for one in [*steps, *gate["IfSteps"], *gate["ElseSteps"]] if one["Name"] == name
        ]
        arguments: dict[str, Any] = found["Arguments"]
        return arguments


def _text(value: Any) -> str:  # noqa: ANN401 - any CloudFormation value
    match value:
        case str():
            return value
        case {"Fn::Join": [separator, parts]}:
            return str(separator).join(_text(part) for part in parts)
        case {"Fn::GetAtt": [resource, attribute]}:
            return f"<GetAtt {resource}.{attribute}>"
        case {"Fn::ImportValue": name}:
            return f"<Import {name}>"
        case {"Fn::Sub": text}:
            return f"<Sub {text}>"
    raise AssertionError(f"the definition holds {value!r}, which no test here expects")


def _environment(**changes: str) -> dict[str, str]:
    """No credentials, no profile, no region: a synth needs none of them."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "CDK_"))
    }
    return {**kept, "PATH": f"{VENV_BIN}{os.pathsep}{os.environ['PATH']}", **changes}


def _synthesize(checkout: Path, **changes: str) -> Assembly:
    """Run `python app.py` there."""
    subprocess.run(
        [sys.executable, "app.py"],
        cwd=checkout,
        env=_environment(
            CDK_OUTDIR="out", CDK_VALIDATION="false", PYTHONDONTWRITEBYTECODE="1", **changes
        ),
        check=True,
    )
    return Assembly(checkout / "out")


@pytest.fixture(scope="session")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """Written by `python app.py`, in a folder without compiled files."""
    checkout = copy_app(tmp_path_factory.mktemp("first") / "evenshard")
    return _synthesize(checkout, PYTHONHASHSEED="1")


@pytest.fixture(scope="session")
def prod_assembly(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """The same of `-c env=prod`, which the command line passes in this variable."""
    checkout = copy_app(tmp_path_factory.mktemp("prod") / "evenshard")
    return _synthesize(checkout, CDK_CONTEXT_JSON=json.dumps({"env": "prod"}))


@pytest.fixture(scope="session")
def cli_assembly(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """Written by the CDK command line, elsewhere, in a folder where code has run before."""
    checkout = copy_app(tmp_path_factory.mktemp("second") / "another" / "name")
    (checkout / ".venv").symlink_to(VENV_BIN.parent)
    (checkout / "node_modules").symlink_to(REPOSITORY_ROOT / "node_modules")
    assert compileall.compile_dir(checkout / "training", quiet=1)
    (checkout / ".evenshard").mkdir()
    (checkout / ".evenshard" / "left-over.json").write_text("{}")
    subprocess.run(
        [VENV_BIN / "npx", "cdk", "synth", "--quiet", "--output", "out"],
        cwd=checkout,
        env=_environment(
            CDK_VALIDATION="false", PYTHONHASHSEED="2", CDK_DISABLE_CLI_TELEMETRY="true"
        ),
        check=True,
    )
    return Assembly(checkout / "out")
