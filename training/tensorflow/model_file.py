"""The model on disk, text in and probability out: SavedModel, .keras file and configuration."""

from pathlib import Path

import keras
import tensorflow as tf

from training.contract.layout import KERAS_MODEL_FILE, SAVED_MODEL_FOLDER, TENSORFLOW
from training.trainer.model_config import ModelConfig, read_config, write_config
from training.trainer.output import explained


def save_model(folder: Path, model: keras.Model, config: ModelConfig) -> None:
    """Write a model and its configuration, the latter last.

    Args:
        folder: of the model.
        model: takes texts.
        config: where it comes from.

    Raises:
        OutputError: they cannot be written.
    """
    with explained(folder, tf.errors.OpError):
        folder.mkdir(parents=True, exist_ok=True)
        model.export(folder / SAVED_MODEL_FOLDER, verbose=False)
        model.save(folder / KERAS_MODEL_FILE)
        write_config(folder, TENSORFLOW, config)


def load_config(folder: Path) -> ModelConfig:
    """Read a model's configuration.

    Raises:
        ContractError: there is none, it is of another framework, or the model is not complete.
    """
    return read_config(folder, TENSORFLOW)


def load_model(folder: Path) -> keras.Model:
    """Read a model whose configuration is complete: text in, probability out."""
    return keras.saving.load_model(folder / KERAS_MODEL_FILE)
