"""The images' lock files hold what their pins say, every file of it by its hash."""

import re

import pytest

from evenshard.images.brought import BROUGHT
from evenshard.repository import ROOT
from tests.unit.infra.test_dockerfile import pins
from training.contract.layout import FRAMEWORKS

pytestmark = pytest.mark.parametrize("framework", FRAMEWORKS)

HASH = r"--hash=sha256:[0-9a-f]{64}"
FEWEST_HASHES = {"pyarrow": 3, "pillow": 3, "grpcio": 3}
"""A file for each of Python 3.11, 3.12 and 3.13, where one file does not serve all."""


def locked(framework: str) -> dict[str, list[str]]:
    """Requirement -> its hashes."""
    text = (ROOT / "training" / framework / "requirements.lock").read_text()
    entries = re.split(r"\n(?=[a-z])", text.partition("\n")[2].replace("\\\n", " "))
    return {entry.split()[0]: re.findall(HASH, entry) for entry in entries}


def test_the_lock_has_the_pins_and_what_they_lead_to(framework: str) -> None:
    found = locked(framework)
    wanted = pins((ROOT / "training" / framework / "requirements.txt").read_text())
    assert {f"{name}=={version}" for name, version in wanted.items()} <= set(found), (
        "training/*/requirements.txt was changed: run `make hashes`"
    )
    names = {requirement.partition("==")[0] for requirement in found}
    assert names & set(BROUGHT[framework]) == set()
    assert ("tensorboard-data-server" in names) == ("tensorboard" in names)


def test_every_requirement_has_hashes(framework: str) -> None:
    found = locked(framework)
    assert len(found) >= 2
    for requirement, hashes in found.items():
        name = requirement.partition("==")[0]
        assert len(set(hashes)) >= FEWEST_HASHES.get(name, 1), requirement
