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


def compare(name: str, found: dict[str, Any], *, sort_keys: bool) -> None:
    """Compare with, or update, one stored file."""
    text = json.dumps(found, indent=2, sort_keys=sort_keys)
    masked = re.sub(r"\b[0-9a-f]{64}\b", "<hash>", text) + "\n"
    path = SNAPSHOTS / name
    if UPDATE:
        path.write_text(masked)
    assert masked == path.read_text(), f"{name} changed; how to update it: {__name__}"


@pytest.mark.parametrize("stack", ["Storage", "Training"])
def test_template(assembly: Assembly, stack: str) -> None:
    template = assembly.template(stack)
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::SageMaker::Pipeline":
            body = resource["Properties"]["PipelineDefinition"]
            framework = resource["Properties"]["PipelineName"].rpartition("-")[2]
            body["PipelineDefinitionBody"] = f"<see definition-{framework}.json>"
    compare(f"{stack}.json", template, sort_keys=True)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_definition(assembly: Assembly, framework: str) -> None:
    # In its own order: the console shows parameters and steps in it.
    compare(f"definition-{framework}.json", assembly.definition(framework), sort_keys=False)
