import json
from pathlib import Path

import pytest

from evenshard.errors import RefusedError, UsageError
from evenshard.simulator.deployment import assembly
from evenshard.simulator.deployment.assembly import Assembly, synthesize
from evenshard.simulator.errors import DefinitionError
from tests.unit.simulator.assemblies import definition_of, write_assembly, write_json


def test_finds_the_pipeline_by_its_framework(tmp_path: Path) -> None:
    write_assembly(tmp_path, definition_of())
    pipeline = Assembly(tmp_path).pipeline("pytorch")
    assert pipeline.name == "small-pytorch"
    assert pipeline.body == '{"Version": "2020-12-01", "Parameters": [], "Steps": []}'


def test_a_framework_without_pipeline_names_those_there_are(tmp_path: Path) -> None:
    write_assembly(tmp_path, definition_of())
    with pytest.raises(UsageError, match=r"-tensorflow\. The pipelines are: small-pytorch\."):
        Assembly(tmp_path).pipeline("tensorflow")


def test_a_missing_assembly_names_what_is_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds nothing, for there is no such folder"):
        Assembly(tmp_path / "none")
    (tmp_path / "README.md").write_text("")
    with pytest.raises(UsageError, match=r"no cloud assembly in .*: it holds README\.md"):
        Assembly(tmp_path)


def test_a_broken_assembly_is_wrong_usage(tmp_path: Path) -> None:
    write_assembly(tmp_path, definition_of())
    (tmp_path / "stack.template.json").write_text("{")
    with pytest.raises(UsageError, match="cannot be read as JSON"):
        Assembly(tmp_path)
    (tmp_path / "stack.template.json").unlink()
    with pytest.raises(UsageError, match="cannot be read as JSON"):
        Assembly(tmp_path)


@pytest.mark.parametrize(
    "manifest",
    [
        {"artifacts": []},
        {"artifacts": {"a": 1}},
        {"artifacts": {"a": {"type": "aws:cloudformation:stack"}}},
        {"artifacts": {"a": {"type": "aws:cloudformation:stack", "properties": {}}}},
    ],
)
def test_a_manifest_of_another_form_is_wrong_usage(tmp_path: Path, manifest: object) -> None:
    write_json(tmp_path / "manifest.json", manifest)
    with pytest.raises(UsageError, match=r"manifest\.json is not as `cdk synth` writes it"):
        Assembly(tmp_path)


@pytest.mark.parametrize(
    "template",
    [
        {"Resources": []},
        {"Resources": None},
        {"Resources": {"x": 3}},
        {"Resources": {"x": {"Properties": []}}},
        {"Outputs": [1]},
        {"Parameters": {"x": None}},
    ],
)
def test_a_template_of_another_form_is_wrong_usage(tmp_path: Path, template: object) -> None:
    write_assembly(tmp_path, definition_of())
    write_json(tmp_path / "stack.template.json", template)
    with pytest.raises(
        UsageError, match=r"stack\.template\.json: .* Synthesize the assembly again"
    ):
        Assembly(tmp_path)


@pytest.mark.parametrize("definition", [3, [], "text", None, {}])
def test_a_pipeline_without_a_definition_is_refused(tmp_path: Path, definition: object) -> None:
    write_assembly(tmp_path, definition_of())
    file = tmp_path / "stack.template.json"
    template = json.loads(file.read_text())
    template["Resources"]["Pipeline"]["Properties"]["PipelineDefinition"] = definition
    write_json(file, template)
    with pytest.raises(DefinitionError, match="holds nothing"):
        Assembly(tmp_path).pipeline("pytorch")


def test_a_definition_outside_the_template_is_refused(tmp_path: Path) -> None:
    write_assembly(tmp_path, definition_of())
    location = {"PipelineDefinitionS3Location": {"Bucket": "b", "Key": "k"}}
    properties = {"PipelineName": "small-pytorch", "PipelineDefinition": location}
    resource = {"Type": "AWS::SageMaker::Pipeline", "Properties": properties}
    write_json(tmp_path / "stack.template.json", {"Resources": {"P": resource}})
    with pytest.raises(DefinitionError, match="PipelineDefinitionS3Location"):
        Assembly(tmp_path).pipeline("pytorch")


def test_synthesis_runs_the_app_with_its_output_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assembly, "ROOT", tmp_path)
    (tmp_path / "app.py").write_text(
        "import json, os, pathlib\n"
        "folder = pathlib.Path(os.environ['CDK_OUTDIR'])\n"
        "assert os.environ['CDK_VALIDATION'] == 'false'\n"
        "(folder / 'manifest.json').write_text('{\"artifacts\": {}}')\n"
    )
    assert synthesize(tmp_path / "out").folder == tmp_path / "out"


def test_an_app_that_fails_is_refused_with_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assembly, "ROOT", tmp_path)
    with pytest.raises(UsageError, match="no CDK app"):
        synthesize(tmp_path / "out")
    (tmp_path / "app.py").write_text("raise SystemExit('config/dev.toml: epochs must be >= 1')")
    with pytest.raises(RefusedError, match="epochs must be >= 1"):
        synthesize(tmp_path / "out")
