"""app.py with a mistake in its definition writes no template and says what is wrong.

Here the mistakes meet the definition that infra/ really builds, CDK tokens included.
"""

import copy
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest
from aws_cdk import App

from infra import training
from infra.pipeline.definition import pipeline_definition
from infra.pipeline.deployment import Deployment
from infra.pipeline.validation import problems
from infra.settings import Settings, load_settings
from tests.definition.edits import Json
from tests.definition.mutations import MUTATIONS, Mutation

APP = Path(__file__).resolve().parents[2] / "app.py"

RunApp = Callable[[Callable[[Json], None]], int]


@pytest.fixture
def run_app(monkeypatch: pytest.MonkeyPatch) -> RunApp:
    """Runs app.py after a change to the definition; says how often it came to write templates."""
    monkeypatch.chdir(APP.parent)
    writes: list[App] = []

    def write(app: App) -> None:
        # Writing the templates takes seconds; that app.py gets there is what counts.
        writes.append(app)

    monkeypatch.setattr(App, "synth", write)

    def run(change: Callable[[Json], None]) -> int:
        def changed(settings: Settings, deployment: Deployment) -> Json:
            definition = copy.deepcopy(pipeline_definition(settings, deployment))
            change(definition)
            return definition

        monkeypatch.setattr(training, "pipeline_definition", changed)
        runpy.run_path(str(APP), run_name="__main__")
        return len(writes)

    return run


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_app_refuses_the_mistake(mutation: Mutation, run_app: RunApp) -> None:
    with pytest.raises(SystemExit) as stop:
        run_app(mutation.make)

    # A text as exit code: Python prints it and exits 1.
    message = str(stop.value.code)
    assert "1 problem:" in message
    assert f"{mutation.path}: " in message
    assert mutation.fix in message
    assert f"[{mutation.rule}]" in message


def test_app_writes_templates_where_there_is_no_mistake(run_app: RunApp) -> None:
    assert run_app(lambda _: None) == 1


@pytest.mark.parametrize("environment", ["dev", "prod"])
def test_definition_of_every_environment_has_no_problems(environment: str) -> None:
    deployment = Deployment(
        framework="pytorch",
        bucket_name="evenshard-data",
        key_arn="arn:aws:kms:eu-west-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab",
        image_uri="123456789012.dkr.ecr.eu-west-1.amazonaws.com/evenshard:1",
        training_role_arn="arn:aws:iam::123456789012:role/evenshard-training",
        evaluation_role_arn="arn:aws:iam::123456789012:role/evenshard-evaluation",
        preflight_function_arn="arn:aws:lambda:eu-west-1:123456789012:function:preflight",
        model_package_group_name="evenshard-pytorch",
    )
    # Without tokens: names and ARNs are judged as well.
    assert problems(pipeline_definition(load_settings(environment), deployment)) == []
