"""`-c env=prod` synthesizes, which app.py refuses to do for a definition with problems."""

import json

import pytest

from infra.ownership import STACKS
from tests.synth.conftest import Assembly

pytestmark = pytest.mark.timeout(300)


def test_it_synthesizes_under_its_own_names(prod_assembly: Assembly) -> None:
    pipelines = prod_assembly.resources("Training", "AWS::SageMaker::Pipeline")
    assert {one["Properties"]["PipelineName"] for one in pipelines} == {
        "evenshard-prod-pytorch",
        "evenshard-prod-tensorflow",
    }
    text = (prod_assembly.path / "manifest.json").read_text()
    assert "evenshard-prod-storage" in text
    assert "evenshard-dev" not in text


def test_its_stacks_are_those_whose_owner_is_asked_for(prod_assembly: Assembly) -> None:
    # And before they are deleted: one that is not in the list would be deleted whoever's it is.
    assert set(prod_assembly.templates()) == {f"evenshard-prod-{one}" for one in STACKS}


def test_data_survives_its_stack(prod_assembly: Assembly) -> None:
    for bucket in prod_assembly.resources("Storage", "AWS::S3::Bucket"):
        assert bucket["DeletionPolicy"] in ("Retain", "RetainExceptOnCreate")
    [key] = prod_assembly.resources("Storage", "AWS::KMS::Key")
    assert key["DeletionPolicy"] == "Retain"


def test_nag_judged_it(prod_assembly: Assembly) -> None:
    report = json.loads((prod_assembly.path / "validation-report.json").read_text())
    [nag] = [one for one in report["pluginReports"] if one["pluginName"] == "AwsSolutions"]
    assert nag["conclusion"] == "success"
    assert nag["violations"] == []
    # It looked: what is acknowledged is listed.
    assert len(nag["suppressedViolations"]) >= 8
