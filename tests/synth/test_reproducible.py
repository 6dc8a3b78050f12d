"""Equal sources give equal bytes.

One synth ran without the CDK command line and the other with it, in folders of different names, at
different times, with different hash seeds, one with compiled files and left-overs around.
"""

import json

import pytest

from tests.synth.conftest import Assembly

pytestmark = pytest.mark.timeout(300)


@pytest.mark.parametrize("stack", ["Storage", "Training", "Operations"])
def test_templates_are_byte_equal(assembly: Assembly, cli_assembly: Assembly, stack: str) -> None:
    assert assembly.bytes_of(stack) == cli_assembly.bytes_of(stack)


@pytest.mark.parametrize("stack", ["Storage", "Training", "Operations"])
def test_assets_are_byte_equal(assembly: Assembly, cli_assembly: Assembly, stack: str) -> None:
    first, second = (
        (one.path / f"{stack}.assets.json").read_bytes() for one in (assembly, cli_assembly)
    )
    assert first == second


def test_the_command_line_has_nothing_to_remark(cli_assembly: Assembly) -> None:
    """Every feature flag is set, so that the command line does not warn about them."""
    manifest = json.loads((cli_assembly.path / "manifest.json").read_text())
    flags = manifest["artifacts"]["aws-cdk-lib/feature-flag-report"]["properties"]["flags"]
    unset = [
        name
        for name, flag in flags.items()
        if "userValue" not in flag
        and (flag.get("unconfiguredBehavesLike") or {}).get("v2", False) != flag["recommendedValue"]
    ]
    assert unset == []
