import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.unit.trainer.disks import full_disk
from training.contract.errors import ContractError
from training.contract.hyperparameters import TrainingHyperparameters
from training.pytorch.model_file import load_config, load_weights, save_model
from training.pytorch.task import new_model
from training.pytorch.tasks.text import TextTask
from training.trainer.model_config import ModelConfig
from training.trainer.output import OutputError

SMALL = TrainingHyperparameters(hash_buckets=64, embedding_dim=4, hidden_dim=4)
CONFIG = ModelConfig(hyperparameters=SMALL, epochs=3, records=10, data_digest="00ff")


def edit_config(folder: Path, **changes: object) -> None:
    file = folder / "config.json"
    content = json.loads(file.read_text())
    content.update(changes)
    file.write_text(json.dumps(content))


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save_model(tmp_path / "model", new_model(TextTask(SMALL)).state_dict(), CONFIG)
    return tmp_path / "model"


def test_what_is_saved_is_loaded(saved: Path) -> None:
    weights = load_weights(saved)
    expected = new_model(TextTask(SMALL)).state_dict()
    assert weights.keys() == expected.keys()
    assert all(torch.equal(weights[name], expected[name]) for name in expected)
    assert load_config(saved) == CONFIG
    assert sorted(path.name for path in saved.iterdir()) == ["config.json", "model.safetensors"]


def test_a_full_disk_is_told_and_leaves_no_configuration(tmp_path: Path) -> None:
    weights = {"rows": torch.zeros(10_000)}
    with full_disk(), pytest.raises(OutputError) as caught:
        save_model(tmp_path, weights, CONFIG)
    assert str(caught.value).startswith(f"The model cannot be written to {tmp_path}: ")
    assert "File too large" in str(caught.value)
    assert str(caught.value).endswith("mount it writable, or give the job a larger volume.")
    assert not (tmp_path / "config.json").exists()


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "model").write_text("a file, not a folder")
    with pytest.raises(OutputError, match=r"model: .*File exists"):
        save_model(tmp_path / "model", {"rows": torch.zeros(1)}, CONFIG)


@pytest.mark.parametrize("complete", [False, None, "true", 1])
def test_a_model_that_is_not_complete_is_refused(saved: Path, complete: object) -> None:
    edit_config(saved, complete=complete)
    with pytest.raises(ContractError, match="half trained"):
        load_config(saved)


def test_a_model_without_configuration_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ContractError, match="No trainer of this project has written"):
        load_config(tmp_path)


def test_another_frameworks_model_is_refused(saved: Path) -> None:
    edit_config(saved, framework="tensorflow")
    with pytest.raises(ContractError, match=r"'tensorflow'\. Allowed: pytorch"):
        load_config(saved)


def test_another_releases_model_is_refused(saved: Path) -> None:
    edit_config(saved, hyperparameters={"warp": 9})
    with pytest.raises(ContractError, match="not written by this release"):
        load_config(saved)


def test_configurations_differ() -> None:
    assert replace(CONFIG, epochs=4) != CONFIG
