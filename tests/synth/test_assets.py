"""What leaves the repository: allow-lists, checked by what was staged."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.synth.conftest import Assembly

pytestmark = pytest.mark.timeout(300)


def staged(assembly: Assembly, kind: str) -> tuple[Path, dict[str, object]]:
    manifest = json.loads((assembly.path / "Training.assets.json").read_text())
    sources = [asset["source"] for asset in manifest[kind].values()]
    [source] = [
        source for source in sources if not str(source.get("path")).endswith("template.json")
    ]
    return assembly.path / (source.get("path") or source["directory"]), source


def files_below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_the_function_is_made_of_shards_and_contract_only(cli_assembly: Assembly) -> None:
    folder, source = staged(cli_assembly, "files")
    assert source["packaging"] == "zip"
    names = files_below(folder)
    assert {"training/__init__.py", "training/shards/preflight.py"} <= names
    assert {"training/contract/hyperparameters.py", "training/contract/shard_names.py"} <= names
    packages = ("training/shards/", "training/contract/")
    outside = [name for name in names if not name.startswith(packages)]
    assert outside == ["training/__init__.py"]
    assert not [name for name in names if not name.endswith(".py")]


def test_the_function_imports_nothing_but_the_standard_library(assembly: Assembly) -> None:
    folder, _ = staged(assembly, "files")
    # -S: no site-packages. boto3 is the runtime's, and only the handler asks for it.
    program = "import training.shards.preflight as p; print(p.handler.__name__, p.__file__)"
    done = subprocess.run(
        [sys.executable, "-S", "-B", "-c", program],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["handler", str(folder / "training/shards/preflight.py")]


def test_the_image_is_made_of_its_own_framework_only(cli_assembly: Assembly) -> None:
    folder, source = staged(cli_assembly, "dockerImages")
    assert source["platform"] == "linux/amd64"
    assert source["dockerFile"] == "training/pytorch/Dockerfile"
    names = files_below(folder)
    expected = {
        "training/__init__.py",
        "training/launch.py",
        "training/contract/layout.py",
        "training/records/loader.py",
        "training/pytorch/Dockerfile",
        "training/pytorch/requirements.txt",
        "training/pytorch/train.py",
        "training/steps/evaluate.py",
    }
    assert expected - names == set()
    unwanted = ("__pycache__", "training/shards/", "training/tensorflow/")
    assert not [name for name in names if any(part in name for part in unwanted)]
    assert all(name.startswith("training/") for name in names)
