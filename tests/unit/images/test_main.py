"""`python -m evenshard.images`, with an engine that only says what it was told."""

from pathlib import Path

import pytest

from evenshard.errors import ExitCode
from evenshard.images.__main__ import main
from tests.unit.images.test_assets import source, write_manifest
from tests.unit.images.test_engine import add_program


@pytest.fixture
def assembly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "assembly"
    for framework in ("pytorch", "tensorflow"):
        (folder / f"asset.{framework}").mkdir(parents=True)
    write_manifest(folder, "A", {"1" * 64: source("pytorch"), "2" * 64: source("tensorflow")})
    monkeypatch.setenv("PATH", str(tmp_path))
    add_program(tmp_path, "podman", 0)
    return folder


def test_builds_all_and_says_their_names(
    assembly: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(assembly), "--base-image", "tensorflow=mirror/tf:2"]) == ExitCode.DONE
    assert "--build-arg=BASE_IMAGE=mirror/tf:2" in (assembly.parent / "called").read_text()
    assert capsys.readouterr().out.splitlines() == [
        "podman builds localhost/evenshard-pytorch:111111111111 ...",
        "podman builds localhost/evenshard-tensorflow:222222222222 ...",
        "pytorch: localhost/evenshard-pytorch:111111111111",
        "tensorflow: localhost/evenshard-tensorflow:222222222222",
    ]


@pytest.mark.parametrize("pair", ["jax=registry/base:1", "pytorch", "pytorch="])
def test_refuses_a_base_of_no_image(
    assembly: Path, pair: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(assembly), f"--base-image={pair}"]) == ExitCode.USAGE
    assert "Allowed: pytorch=IMAGE, tensorflow=IMAGE" in capsys.readouterr().err
    assert not (assembly.parent / "called").exists()


def test_fails_where_nothing_builds(assembly: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (assembly.parent / "podman").unlink()
    assert main([str(assembly)]) == ExitCode.FAILED
    assert "apt-get install buildah" in capsys.readouterr().err
