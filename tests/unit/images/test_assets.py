"""The images of an assembly."""

import json
from pathlib import Path

import pytest

from evenshard.errors import UsageError
from evenshard.images.assets import read_images


def write_manifest(folder: Path, name: str, images: dict[str, object]) -> None:
    (folder / f"{name}.assets.json").write_text(json.dumps({"files": {}, "dockerImages": images}))


def source(framework: str) -> dict[str, object]:
    return {
        "source": {
            "directory": f"asset.{framework}",
            "dockerFile": f"training/{framework}/Dockerfile",
            "dockerBuildArgs": {"BASE_IMAGE": "registry/base:1"},
            "platform": "linux/amd64",
        },
        "destinations": {},
    }


def test_images_of_all_stacks_are_found(tmp_path: Path) -> None:
    write_manifest(tmp_path, "Storage", {})
    write_manifest(tmp_path, "A", {"f" * 64: source("tensorflow")})
    write_manifest(tmp_path, "B", {"0123456789abcdef": source("pytorch")})
    first, second = read_images(tmp_path)
    assert (first.framework, second.framework) == ("pytorch", "tensorflow")
    assert first.folder == tmp_path / "asset.pytorch"
    assert first.dockerfile == "training/pytorch/Dockerfile"
    assert first.arguments == {"BASE_IMAGE": "registry/base:1"}
    assert first.platform == "linux/amd64"
    assert first.tag == "localhost/evenshard-pytorch:0123456789ab"


def test_refuses_an_assembly_that_builds_nothing(tmp_path: Path) -> None:
    write_manifest(tmp_path, "Storage", {})
    with pytest.raises(UsageError, match=r"no image to build in .*1 asset manifests.*kind = "):
        read_images(tmp_path)


def test_refuses_a_folder_that_is_no_assembly(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="0 asset manifests"):
        read_images(tmp_path / "nowhere")
