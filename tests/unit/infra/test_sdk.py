"""sagemaker-core's classes come without sagemaker-core, and leave it as it is."""

import json
import subprocess
import sys
from typing import Any

import pytest

from infra.pipeline.sdk import packages_without_code

PROGRAM = """
import json, sys
from infra.pipeline import sdk

alone = sorted(sys.modules)
import sagemaker.core  # all of it, as somebody else may
from sagemaker.core.workflow.functions import Join

print(json.dumps({
    "alone": alone,
    "whole": sagemaker.core.Processor.__name__,
    "same": Join is sdk.Join,
}))
"""


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """What a process of its own says that imports infra.pipeline.sdk first."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", ["sagemaker.core.resources", "pandas", "scipy", "boto3", "rich"])
def test_what_pipelines_do_not_need_is_not_imported(told: dict[str, Any], name: str) -> None:
    assert "sagemaker.core.workflow.functions" in told["alone"]
    assert name not in told["alone"]


def test_who_imports_the_package_later_gets_it_whole(told: dict[str, Any]) -> None:
    assert not {"sagemaker", "sagemaker.core", "sagemaker.core.helper"} & set(told["alone"])
    assert told["whole"] == "Processor"


def test_its_classes_are_the_same(told: dict[str, Any]) -> None:
    assert told["same"] is True


def test_a_package_that_is_imported_already_stays() -> None:
    before = sys.modules["json"]
    with packages_without_code("json"):
        assert sys.modules["json"] is before
    assert sys.modules["json"] is before


def test_a_package_that_is_missing_is_named() -> None:
    with (
        pytest.raises(ModuleNotFoundError, match=r"no_such_sdk is not installed\. It comes with"),
        packages_without_code("no_such_sdk"),
    ):
        pass
    assert "no_such_sdk" not in sys.modules
