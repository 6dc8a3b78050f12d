"""The model on disk, text in and probability out: SavedModel, .keras file and configuration.

The configuration is written last and says `complete: true`: a folder without it holds no model.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import keras

from training.contract.errors import ContractError
from training.contract.hyperparameters import TrainingHyperparameters
from training.contract.json_files import read_object
from training.contract.layout import (
    KERAS_MODEL_FILE,
    MODEL_CONFIG_FILE,
    SAVED_MODEL_FOLDER,
    TENSORFLOW,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """What one needs to know to use a model, and where it comes from."""

    hyperparameters: TrainingHyperparameters
    epochs: int
    """Passes over the training records that were done."""
    records: int
    """Training records of all hosts in one epoch."""
    data_digest: str | None
    """Of the training data as Preflight saw it; None where no Preflight ran."""


def save_model(folder: Path, model: keras.Model, config: ModelConfig) -> None:
    """Write a model and its configuration, the latter last, under its name only when whole.

    Args:
        folder: of the model.
        model: takes texts.
        config: where it comes from.
    """
    folder.mkdir(parents=True, exist_ok=True)
    model.export(folder / SAVED_MODEL_FOLDER, verbose=False)
    model.save(folder / KERAS_MODEL_FILE)
    content = {"framework": TENSORFLOW, **asdict(config), "complete": True}
    unfinished = folder / f".{MODEL_CONFIG_FILE}.part"
    unfinished.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    unfinished.replace(folder / MODEL_CONFIG_FILE)


def load_config(folder: Path) -> ModelConfig:
    """Read a model's configuration.

    Raises:
        ContractError: there is none, it is of another framework, or the model is not complete.
    """
    file = folder / MODEL_CONFIG_FILE
    content = read_object(file)
    if content.get("complete") is not True:
        raise ContractError(
            f"{MODEL_CONFIG_FILE} says complete: {json.dumps(content.get('complete'))}, so this "
            "model is half trained. Allowed: true, which a training writes at its very end. "
            "Train again to the end."
        )
    if content.get("framework") != TENSORFLOW:
        raise ContractError(
            f"{MODEL_CONFIG_FILE} says framework: {content.get('framework')!r}. Allowed: "
            f"{TENSORFLOW}. Evaluate the model with its own framework's image."
        )
    return _config(file, content)


def load_model(folder: Path) -> keras.Model:
    """Read a model whose configuration is complete: text in, probability out."""
    return keras.saving.load_model(folder / KERAS_MODEL_FILE)


def _config(file: Path, content: dict[str, Any]) -> ModelConfig:
    try:
        return ModelConfig(
            hyperparameters=TrainingHyperparameters(**content["hyperparameters"]),
            epochs=content["epochs"],
            records=content["records"],
            data_digest=content["data_digest"],
        )
    except (KeyError, TypeError) as error:
        raise ContractError(
            f"{file.name} was not written by this release of the trainer ({error}). Train again, "
            "or evaluate with the release that the model is from."
        ) from None
