import json
from pathlib import Path

import pytest

from training.contract.layout import PYTORCH, TENSORFLOW
from training.contract.parsing import HyperparameterError
from training.contract.paths import ContainerPaths
from training.trainer.settings import read_settings


@pytest.mark.parametrize(
    ("framework", "name"), [(PYTORCH, "vocabulary_size"), (TENSORFLOW, "hash_buckets")]
)
def test_what_a_trainer_would_ignore_is_refused_without_a_launcher_too(
    tmp_path: Path, framework: str, name: str
) -> None:
    paths = ContainerPaths(tmp_path)
    paths.hyperparameters_file.parent.mkdir(parents=True)
    paths.hyperparameters_file.write_text(json.dumps({name: "64", "epochs": "2"}))
    with pytest.raises(HyperparameterError, match=f"Hyperparameter {name} is the"):
        read_settings(paths, framework)
    paths.hyperparameters_file.write_text(json.dumps({"epochs": "2"}))
    assert read_settings(paths, framework).epochs == 2
