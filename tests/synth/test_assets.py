"""What leaves the repository: allow-lists, checked by what was staged."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from aws_cdk import App, AssetStaging, Stack
from aws_cdk import aws_ecr_assets as ecr_assets

from infra import images
from infra.pipeline.settings import BuiltImage
from tests.synth.conftest import REPOSITORY_ROOT, Assembly
from training.contract.layout import FRAMEWORKS

pytestmark = pytest.mark.timeout(300)


Source = dict[str, object]


def sources(assembly: Assembly, kind: str) -> list[Source]:
    manifest = json.loads((assembly.path / "Training.assets.json").read_text())
    return [asset["source"] for asset in manifest[kind].values()]


def staged_function(assembly: Assembly) -> tuple[Path, Source]:
    files = sources(assembly, "files")
    [source] = [one for one in files if not str(one["path"]).endswith("template.json")]
    return assembly.path / str(source["path"]), source


def staged_image(assembly: Assembly, framework: str) -> tuple[Path, Source]:
    images = sources(assembly, "dockerImages")
    [source] = [one for one in images if one["dockerFile"] == f"training/{framework}/Dockerfile"]
    return assembly.path / str(source["directory"]), source


def files_below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_the_function_is_made_of_shards_and_contract_only(cli_assembly: Assembly) -> None:
    folder, source = staged_function(cli_assembly)
    assert source["packaging"] == "zip"
    names = files_below(folder)
    assert {"training/__init__.py", "training/shards/preflight.py"} <= names
    assert {"training/contract/hyperparameters.py", "training/contract/shard_names.py"} <= names
    packages = ("training/shards/", "training/contract/")
    outside = [name for name in names if not name.startswith(packages)]
    assert outside == ["training/__init__.py"]
    assert not [name for name in names if not name.endswith(".py")]


def test_the_function_imports_nothing_but_the_standard_library(assembly: Assembly) -> None:
    folder, _ = staged_function(assembly)
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


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_an_image_is_made_of_its_own_framework_only(cli_assembly: Assembly, framework: str) -> None:
    folder, source = staged_image(cli_assembly, framework)
    assert source["platform"] == "linux/amd64"
    names = files_below(folder)
    expected = {
        "training/__init__.py",
        "training/launch.py",
        "training/contract/layout.py",
        "training/records/loader.py",
        f"training/{framework}/Dockerfile",
        f"training/{framework}/requirements.lock",
        "training/steps/evaluate.py",
        f"examples/{framework}/train.py",
    }
    assert expected - names == set()
    others = [
        f"{folder}/{other}/"
        for folder in ("training", "examples")
        for other in FRAMEWORKS
        if other != framework
    ]
    unwanted = ("__pycache__", "training/shards/", *others)
    assert not [name for name in names if any(part in name for part in unwanted)]
    assert all(name.startswith(("training/", f"examples/{framework}/")) for name in names)


EDITED = {
    "training/pytorch/train.py": {"pytorch"},
    "training/pytorch/requirements.lock": {"pytorch"},
    "training/pytorch/new.py": {"pytorch"},
    "training/tensorflow/train.py": {"tensorflow"},
    "training/tensorflow/Dockerfile": {"tensorflow"},
    "training/records/loader.py": {"pytorch", "tensorflow"},
    "training/shards/preflight.py": set(),
    "examples/pytorch/train.py": {"pytorch"},
    "examples/tensorflow/train.py": {"tensorflow"},
    "tests/conftest.py": set(),
    "README.md": set(),
}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("edited")
    for name in ("training", "examples"):
        shutil.copytree(
            REPOSITORY_ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    return folder


def image_hashes(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setattr(images, "REPOSITORY_ROOT", checkout)
    # Within one process CDK looks at a folder once.
    AssetStaging.clear_asset_hash_cache()
    stack = Stack(App(outdir=str(checkout.parent / "out")), "Images")
    build = BuiltImage(kind="build", base_image="registry/base:1")
    for framework in FRAMEWORKS:
        images.TrainingImage(stack, framework, framework=framework, settings=build)
    hashes = {}
    for framework in FRAMEWORKS:
        asset = stack.node.find_child(framework).node.find_child("Asset")
        assert isinstance(asset, ecr_assets.DockerImageAsset)
        hashes[framework] = asset.asset_hash
    return hashes


@pytest.mark.parametrize("edited", EDITED)
def test_an_edit_moves_the_images_that_hold_the_file(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, edited: str
) -> None:
    before = image_hashes(checkout, monkeypatch)
    path = checkout / edited
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write("# edited\n")
    after = image_hashes(checkout, monkeypatch)
    assert {name for name in FRAMEWORKS if before[name] != after[name]} == EDITED[edited]
