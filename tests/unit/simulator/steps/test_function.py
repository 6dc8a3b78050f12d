import json
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from evenshard.simulator.deployment.assembly import Assembly
from evenshard.simulator.errors import DefinitionError, StepFailedError
from evenshard.simulator.events import Noted
from evenshard.simulator.steps.function import run_function
from tests.unit.simulator.assemblies import function_step
from tests.unit.simulator.stage import Stage


def write_handler(stage: Stage, body: str) -> None:
    file = stage.assembly.folder / "asset.abc" / "handler.py"
    file.write_text("import os\ndef main(event, context):\n    " + body + "\n", encoding="utf-8")


def test_the_assets_own_code_gets_event_and_environment(stage: Stage) -> None:
    write_handler(stage, "print('noise'); return {'text': os.environ['GREETING'], **event}")
    step = function_step("Look", {"count": 3}, {"text": "String", "count": "Integer"})
    outcome = run_function(stage.run_of(step))
    assert outcome.properties == {"OutputParameters": {"text": "hello", "count": 3}}
    folder = stage.workspace.folder / "steps" / "Look"
    assert json.loads((folder / "event.json").read_text()) == {"count": 3}
    assert "noise" in (folder / "log.txt").read_text()


def test_a_function_that_raises_fails_the_step_with_its_words(stage: Stage) -> None:
    write_handler(stage, "raise LookupError('nothing there: write some')")
    with pytest.raises(StepFailedError) as error:
        run_function(stage.run_of(function_step("Look", {}, {})))
    assert str(error.value) == "LookupError: nothing there: write some"


def test_it_imports_nothing_but_its_own_folder(stage: Stage) -> None:
    write_handler(stage, "from training.shards import preflight")
    package = stage.assembly.folder / "asset.abc" / "training"
    package.mkdir()
    (package / "__init__.py").write_text("")
    with pytest.raises(StepFailedError, match=r"ModuleNotFoundError: No module named 'training\."):
        run_function(stage.run_of(function_step("Look", {}, {})))


def test_leaves_the_assembly_as_it_was(stage: Stage) -> None:
    asset = stage.assembly.folder / "asset.abc"
    write_handler(stage, "from package import inner; return {}")
    (asset / "package").mkdir()
    (asset / "package" / "__init__.py").write_text("")
    (asset / "package" / "inner.py").write_text("")
    before = sorted(stage.assembly.folder.rglob("*"))
    run_function(stage.run_of(function_step("Look", {}, {})))
    assert sorted(stage.assembly.folder.rglob("*")) == before


def test_a_pure_function_of_the_handlers_module_gets_the_lister(stage: Stage) -> None:
    asset = stage.assembly.folder / "asset.abc"
    (asset / "handler.py").write_text(
        "from collections import namedtuple\n"
        "StoredObject = namedtuple('StoredObject', 'key size_bytes etag')\n"
        "def handler(event, list_objects):\n"
        "    found = [*list_objects('data', event['prefix']), *list_objects('data', 'none/')]\n"
        "    return {'found': ' '.join(f'{o.key}={o.size_bytes}' for o in found),\n"
        "            'etag': found[0].etag}\n"
        "def main(event, context):\n"
        "    raise AssertionError('the store is local')\n"
    )
    step = function_step("Look", {"prefix": "train/"}, {"found": "String", "etag": "String"})
    outputs = run_function(stage.run_of(step)).properties["OutputParameters"]
    assert outputs["found"] == "train/part-0=1 train/part-1=2 train/part-2=3"
    assert outputs["etag"] == "9dd4e461268c8034f5c8564e155c67a6"  # the MD5 of "x"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return {'digest': 3}", "digest is declared as String, and the function returned 3"),
        ("return {'other': 'x'}", "returned None. It returned other."),
        ("return {'digest': 'x' * 1025}", "digest is over 1024 characters"),
        ("return 'x'", "returned 'x', not an object"),
        ("os._exit(1)", "ended without an answer"),
    ],
)
def test_answers_that_the_step_does_not_declare_fail_it(
    stage: Stage, body: str, message: str
) -> None:
    write_handler(stage, body)
    with pytest.raises(StepFailedError, match=message):
        run_function(stage.run_of(function_step("Look", {}, {"digest": "String"})))


def test_a_function_over_its_time_limit_is_ended(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As on a busy machine: the thread that ends the function goes on when its end was seen.
    kill = subprocess.Popen.kill

    def kill_slowly(process: "subprocess.Popen[str]") -> None:
        kill(process)
        time.sleep(0.5)

    monkeypatch.setattr(subprocess.Popen, "kill", kill_slowly)
    write_handler(stage, "import time; time.sleep(600)")
    template = tmp_path / "assembly" / "stack.template.json"
    template.write_text(template.read_text().replace('"Timeout": 30', '"Timeout": 1'))
    shorter = make_stage_of(stage, tmp_path)
    with pytest.raises(StepFailedError, match="local-Function took longer than its 1 seconds"):
        run_function(shorter.run_of(function_step("Look", {}, {})))


def make_stage_of(stage: Stage, folder: Path) -> Stage:
    """The same stage with its assembly read again."""
    assembly = Assembly(folder / "assembly")
    return replace(stage, workspace=replace(stage.workspace, functions=assembly), assembly=assembly)


def test_refuses_a_function_that_the_assembly_lacks(stage: Stage) -> None:
    step = {**function_step("Look", {}, {}), "FunctionArn": "arn:aws:lambda:x:1:function:other"}
    with pytest.raises(DefinitionError, match=r"Steps\.Look\.FunctionArn: no Lambda function"):
        run_function(stage.run_of(step))


def test_refuses_a_function_whose_code_is_no_asset(stage: Stage) -> None:
    (stage.assembly.folder / "stack.assets.json").write_text('{"files": {}}')
    with pytest.raises(DefinitionError, match=r"'abc\.zip' is no asset"):
        run_function(stage.run_of(function_step("Look", {}, {})))


def test_warnings_of_the_function_reach_the_user(stage: Stage) -> None:
    write_handler(
        stage,
        "import logging; log = logging.getLogger('f'); log.setLevel('INFO'); "
        "log.info('fine'); log.warning('3 objects without data'); return {}",
    )
    run_function(stage.run_of(function_step("Look", {}, {})))
    assert stage.events == [Noted(text="3 objects without data")]
