import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.tensorflow.test_task import SETTINGS, VOCABULARY
from tests.unit.trainer.disks import full_disk
from training.contract.errors import ContractError
from training.records import RecordError
from training.tensorflow.evaluation import count_predictions
from training.tensorflow.model_file import load_config, load_model, save_model
from training.tensorflow.task import TextTask
from training.trainer.model_config import ModelConfig
from training.trainer.output import OutputError

# Keras 3.15 has numpy 2 copy a variable in the old way.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

CONFIG = ModelConfig(hyperparameters=SETTINGS, epochs=3, records=10, data_digest="00ff")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved model."""
    task = TextTask(SETTINGS, VOCABULARY)
    folder = tmp_path_factory.mktemp("model") / "made"
    save_model(folder, task.whole_model(task.build_model()), CONFIG)
    return folder


def test_a_full_disk_is_told_and_leaves_no_configuration(tmp_path: Path) -> None:
    task = TextTask(replace(SETTINGS, embedding_dim=1000), VOCABULARY)
    model = task.whole_model(task.build_model())
    with full_disk(), pytest.raises(OutputError) as caught:
        save_model(tmp_path, model, CONFIG)
    assert str(caught.value).startswith(f"The model cannot be written to {tmp_path}: ")
    assert str(caught.value).endswith("mount it writable, or give the job a larger volume.")
    assert not (tmp_path / "config.json").exists()


def change(folder: Path, copy: Path, **changes: object) -> Path:
    """Another model folder, with a changed configuration."""
    copy.mkdir()
    (copy / "model.keras").write_bytes((folder / "model.keras").read_bytes())
    content = json.loads((folder / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**content, **changes}))
    return copy


def test_the_configuration_comes_back(folder: Path) -> None:
    assert load_config(folder) == CONFIG
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_a_model_of_the_other_trainer_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ContractError, match=r"Allowed: tensorflow\. Evaluate the model"):
        load_config(change(folder, tmp_path / "changed", framework="pytorch"))


def test_a_folder_without_a_configuration_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ContractError, match="No trainer of this project has written"):
        load_config(tmp_path)


def test_a_test_set_without_records_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="holds no records"):
        count_predictions(folder, tmp_path)


def test_weights_that_ran_away_are_refused(folder: Path, tmp_path: Path) -> None:
    copy = change(folder, tmp_path / "copy")
    model = load_model(folder)
    model.weights[0].assign(model.weights[0] * float("nan"))
    model.save(copy / "model.keras")
    with pytest.raises(ContractError, match="are not finite: the training ran away"):
        count_predictions(copy, tmp_path)
