import json
from dataclasses import asdict
from pathlib import Path

import pytest

from training.contract.errors import ContractError
from training.contract.hyperparameters import TrainingHyperparameters
from training.trainer.model_config import ModelConfig, read_config, write_config

CONFIG = ModelConfig(
    hyperparameters=TrainingHyperparameters(seed=5), epochs=3, records=10, data_digest="00ff"
)


@pytest.mark.parametrize("framework", ["pytorch", "tensorflow"])
def test_the_configuration_comes_back(tmp_path: Path, framework: str) -> None:
    write_config(tmp_path, framework, CONFIG)
    assert read_config(tmp_path, framework) == CONFIG
    assert [path.name for path in tmp_path.iterdir()] == ["config.json"]


def test_a_folder_without_a_configuration_is_no_model_of_ours(tmp_path: Path) -> None:
    (tmp_path / "model.keras").touch()
    with pytest.raises(ContractError) as refused:
        read_config(tmp_path, "tensorflow")
    message = str(refused.value)
    assert message.startswith("No trainer of this project has written this model: it has no config")
    assert "(it holds: model.keras)" in message
    assert "`program`" in message
    assert "SageMaker writes it" not in message


def test_another_librarys_configuration_is_no_model_of_ours(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    with pytest.raises(ContractError, match="No trainer of this project"):
        read_config(tmp_path, "pytorch")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"complete": False}, "complete: false, so this model is half trained"),
        ({"framework": "tensorflow"}, r"Allowed: pytorch\. Evaluate the model with its own"),
        ({"hyperparameters": {"warp": 1}}, "was not written by this release"),
    ],
)
def test_other_models_are_refused(
    tmp_path: Path, changes: dict[str, object], expected: str
) -> None:
    content = {"framework": "pytorch", **asdict(CONFIG), "complete": True, **changes}
    (tmp_path / "config.json").write_text(json.dumps(content))
    with pytest.raises(ContractError, match=expected):
        read_config(tmp_path, "pytorch")
