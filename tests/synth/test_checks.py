"""What fails a synth."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_s3 as s3
from constructs import IConstruct

from infra.access import jobs, pipeline
from infra.application import add_stacks
from infra.checks.nag import acknowledge, add_nag
from infra.feature_flags import FEATURE_FLAGS
from infra.pipeline.definition import pipeline_definition
from infra.pipeline.deployment import Deployment
from infra.pipeline.validation import DefinitionError
from infra.settings import Settings, load_settings
from training.contract.layout import FRAMEWORKS

pytestmark = pytest.mark.timeout(300)

REGISTRY = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/train"


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> App:
    monkeypatch.setenv("CDK_VALIDATION", "false")
    return App(context=FEATURE_FLAGS, outdir=str(tmp_path / "out"))


@pytest.fixture
def settings() -> Settings:
    """Of images that exist: nothing is staged, which is faster."""
    values = load_settings("dev").model_dump()
    for framework in FRAMEWORKS:
        values[framework]["image"] = {"kind": "existing", "uri": f"{REGISTRY}/{framework}:1"}
    return Settings.model_validate(values)


def findings(app: App) -> str:
    """Everything that fails the synth, as it is said."""
    with pytest.raises(RuntimeError, match="ValidationFailed") as failure:
        app.synth()
    return str(failure.value)


def test_nag_catches_a_bad_bucket(app: App) -> None:
    s3.Bucket(Stack(app, "Bad"), "Open")
    add_nag(app)
    found = findings(app)
    assert "AwsSolutions-S1" in found
    assert "AwsSolutions-S10" in found


def test_an_acknowledgement_covers_one_finding_of_one_resource(app: App) -> None:
    stack = Stack(app, "Bad")
    acknowledge(s3.Bucket(stack, "Known"), {"S1": "a reason", "S10": "a reason"})
    acknowledge(s3.Bucket(stack, "Unknown"), {"S10": "a reason"})
    add_nag(app)
    found = findings(app)
    assert "Bad/Unknown/Resource" in found
    assert "AwsSolutions-S1" in found
    assert "AwsSolutions-S10" not in found


def test_without_its_acknowledgements_the_app_is_refused(
    app: App, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ignore(_construct: IConstruct, reasons: Mapping[str, str]) -> None:
        assert all(len(reason) > 20 for reason in reasons.values())

    for module in (jobs, pipeline):
        monkeypatch.setattr(module, "acknowledge", ignore)
    add_stacks(app, settings)
    found = findings(app)
    assert found.count("AwsSolutions-IAM5[") >= 10


def test_an_image_in_ecr_needs_no_docker(app: App, settings: Settings) -> None:
    add_stacks(app, settings)
    artifact = app.synth().get_stack_by_name("evenshard-dev-training")
    text = Path(artifact.template_full_path).read_text()
    for framework in FRAMEWORKS:
        assert f"{REGISTRY}/{framework}:1" in text
        assert f":ecr:eu-west-1:123456789012:repository/train/{framework}" in text
    manifest = Path(app.outdir) / "Training.assets.json"
    assert '"dockerImages": {}' in manifest.read_text()


def test_a_definition_that_sagemaker_would_refuse_is_refused(
    app: App, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(settings: Settings, deployment: Deployment) -> dict[str, Any]:
        definition = pipeline_definition(settings, deployment)
        definition["Steps"][1]["Arguments"]["HyperParameters"]["epochs"] = 3
        return definition

    monkeypatch.setattr("infra.training.pipeline_definition", broken)
    with pytest.raises(DefinitionError, match="HyperParameters"):
        add_stacks(app, settings)


def test_a_boundary_bounds_every_role(app: App, settings: Settings) -> None:
    bounded = Settings.model_validate({**settings.model_dump(), "permissions_boundary": "team/x"})
    add_stacks(app, bounded)
    roles = [
        resource["Properties"]
        for stack in app.synth().stacks
        for resource in stack.template["Resources"].values()
        if resource["Type"] == "AWS::IAM::Role"
    ]
    assert len(roles) >= 7
    for role in roles:
        assert json.dumps(role["PermissionsBoundary"]).endswith(':policy/team/x"]]}')


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_one_framework_can_be_deployed_alone(app: App, settings: Settings, framework: str) -> None:
    chosen = Settings.model_validate({**settings.model_dump(), "frameworks": [framework]})
    add_stacks(app, chosen)
    artifact = app.synth().get_stack_by_name("evenshard-dev-training")
    resources = json.loads(Path(artifact.template_full_path).read_text())["Resources"].values()
    [pipeline] = [one for one in resources if one["Type"] == "AWS::SageMaker::Pipeline"]
    assert pipeline["Properties"]["PipelineName"] == f"evenshard-dev-{framework}"
    roles = [one for one in resources if one["Type"] == "AWS::IAM::Role"]
    assert len(roles) == 4
