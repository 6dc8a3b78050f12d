"""A changed setting shows in the snapshots of prod as a few lines that a reviewer can read."""

import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.settings import Settings, load_settings
from tests.synth.test_snapshots import SNAPSHOTS, snapshots
from tests.synth.variants import synthesized

pytestmark = pytest.mark.timeout(300)

CHANGES: dict[str, tuple[Any, dict[str, list[str]]]] = {
    "training.max_runtime_s": (
        86_400,
        {
            f"definition-{framework}.json": [
                '- "MaxRuntimeInSeconds": 259200,',
                '+ "MaxRuntimeInSeconds": 86400,',
            ]
            for framework in ("pytorch", "tensorflow")
        },
    ),
    "gate.quality_threshold": (
        0.97,
        {
            f"definition-{framework}.json": ['- "DefaultValue": 0.95', '+ "DefaultValue": 0.97']
            for framework in ("pytorch", "tensorflow")
        },
    ),
    "budget.monthly_usd": (
        30_000,
        {"Operations.json": ['- "Amount": 20000,', '+ "Amount": 30000,']},
    ),
    "storage.old_versions_days": (
        30,
        {"Storage.json": ['- "NoncurrentDays": 365', '+ "NoncurrentDays": 30']},
    ),
    "preflight.log_days": (
        90,
        {"Training.json": ['- "RetentionInDays": 365', '+ "RetentionInDays": 90']},
    ),
}
"""Key of config/prod.toml -> another value, and what then differs, by snapshot."""


def changed(key: str, value: object) -> Settings:
    """What config/prod.toml says, but for one key."""
    values = load_settings("prod").model_dump()
    table, name = key.split(".")
    values[table][name] = value
    return Settings.model_validate(values)


def differences(old: str, new: str) -> Iterator[str]:
    for line in difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=0):
        if line[:1] in "+-" and line[:3] not in ("+++", "---"):
            yield f"{line[0]} {line[1:].strip()}"


@pytest.mark.parametrize("key", CHANGES)
def test_a_changed_setting_shows_as_a_few_lines(key: str, tmp_path: Path) -> None:
    value, expected = CHANGES[key]
    found = {
        name: lines
        for name, text in snapshots(synthesized(changed(key, value), tmp_path)).items()
        if (lines := list(differences((SNAPSHOTS / "prod" / name).read_text(), text)))
    }
    assert found == expected
