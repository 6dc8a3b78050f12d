"""The whole templates, readable, hashes masked.

After a change that is meant: `EVENSHARD_UPDATE_SNAPSHOTS=1 .venv/bin/pytest tests/synth`, then read
the difference before committing it. What must never change is in test_intent.py.
"""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests.synth.conftest import Assembly
from training.contract.layout import FRAMEWORKS

pytestmark = pytest.mark.timeout(300)

SNAPSHOTS = Path(__file__).parent / "snapshots"
UPDATE = os.environ.get("EVENSHARD_UPDATE_SNAPSHOTS") == "1"


def masked(found: dict[str, Any], *, sort_keys: bool) -> str:
    """As a snapshot is stored."""
    text = json.dumps(found, indent=2, sort_keys=sort_keys)
    return re.sub(r"\b[0-9a-f]{64}\b", "<hash>", text) + "\n"


def compare(name: str, text: str) -> None:
    """Compare with, or update, one stored file."""
    path = SNAPSHOTS / name
    if UPDATE:
        path.write_text(text)
    assert text == path.read_text(), f"{name} changed; how to update it: {__name__}"


def snapshots(assembly: Assembly) -> dict[str, str]:
    """File name -> text: every template, and apart from them the definitions."""
    found = {}
    for file in sorted(assembly.path.glob("*.template.json")):
        stack = file.name.removesuffix(".template.json")
        template = assembly.template(stack)
        for resource in template["Resources"].values():
            if resource["Type"] == "AWS::SageMaker::Pipeline":
                body = resource["Properties"]["PipelineDefinition"]
                framework = resource["Properties"]["PipelineName"].rpartition("-")[2]
                name = f"definition-{framework}.json"
                body["PipelineDefinitionBody"] = f"<see {name}>"
                # In its own order: the console shows parameters and steps in it.
                found[name] = masked(assembly.definition(framework), sort_keys=False)
        found[f"{stack}.json"] = masked(template, sort_keys=True)
    return found


@pytest.fixture(params=["dev", "prod"])
def environment(request: pytest.FixtureRequest) -> tuple[Path, Assembly]:
    """The folder of one environment's snapshots, and what a synth of it wrote."""
    fixtures = {"dev": "assembly", "prod": "prod_assembly"}
    found: Assembly = request.getfixturevalue(fixtures[request.param])
    return Path(request.param), found


def test_templates_and_definitions(environment: tuple[Path, Assembly]) -> None:
    folder, assembly = environment
    for name, text in snapshots(assembly).items():
        compare(str(folder / name), text)


def test_no_stack_is_without_a_snapshot(environment: tuple[Path, Assembly]) -> None:
    folder, assembly = environment
    stored = {path.stem for path in (SNAPSHOTS / folder).glob("*.json")}
    stacks = {path.name.partition(".")[0] for path in assembly.path.glob("*.template.json")}
    assert stored == {*stacks, *(f"definition-{framework}" for framework in FRAMEWORKS)}
