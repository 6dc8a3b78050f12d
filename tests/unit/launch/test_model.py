from pathlib import Path

from training.contract.paths import ContainerPaths
from training.launcher.model import clear_model, has_model


def test_a_model_is_any_file(tmp_path: Path) -> None:
    paths = ContainerPaths(tmp_path)
    assert not has_model(paths)
    (paths.model_dir / "nested").mkdir(parents=True)
    assert not has_model(paths)
    (paths.model_dir / "nested" / "weights.bin").touch()
    assert has_model(paths)


def test_clearing_leaves_the_folder_and_what_links_point_to(tmp_path: Path) -> None:
    paths = ContainerPaths(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").touch()
    (paths.model_dir / "nested").mkdir(parents=True)
    (paths.model_dir / "nested" / "weights.bin").touch()
    (paths.model_dir / "config.json").touch()
    (paths.model_dir / "link").symlink_to(elsewhere)
    clear_model(paths)
    assert list(paths.model_dir.iterdir()) == []
    assert (elsewhere / "precious").exists()
