"""Where an environment may be deployed, and what is left out there."""

import json
from importlib import resources
from pathlib import Path

import pytest

from infra.target import TargetSettings, must_be_named

SCHEMAS = Path(str(resources.files("cfnlint"))) / "data" / "schemas" / "providers"
SNAPSHOTS = Path(__file__).parents[2] / "synth" / "snapshots" / "prod"
PARTIAL = {"AWS::Budgets::Budget", "AWS::SageMaker::ModelPackageGroup"}
"""Types that are left out where a region does not have them."""


def deployed_types() -> set[str]:
    """All that prod deploys."""
    templates = [json.loads(file.read_text()) for file in SNAPSHOTS.glob("*.json")]
    return {
        resource["Type"]
        for template in templates
        for resource in template.get("Resources", {}).values()
    }


def known_regions() -> list[str]:
    found = []
    for file in SCHEMAS.glob("*-*-*.json"):
        try:
            TargetSettings(region=file.stem)
        except ValueError:
            continue  # of another partition
        found.append(file.stem)
    return sorted(found)


def test_the_regions_are_many() -> None:
    assert len(known_regions()) > 35
    assert deployed_types() > PARTIAL


@pytest.mark.parametrize("region", known_regions())
def test_every_type_is_left_out_where_cloudformation_lacks_it(region: str) -> None:
    lacking = deployed_types() - set(json.loads((SCHEMAS / f"{region}.json").read_text()))
    target = TargetSettings(region=region)
    assert lacking <= PARTIAL
    assert target.has_model_package_groups is ("AWS::SageMaker::ModelPackageGroup" not in lacking)
    if region.startswith("cn-"):
        # China has the type, but other budgets.
        assert not target.has_budgets
    else:
        assert target.has_budgets is ("AWS::Budgets::Budget" not in lacking)
    assert must_be_named(region) is not (target.has_budgets and target.has_model_package_groups)
