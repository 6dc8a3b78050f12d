"""The model on disk: weights as safetensors, which run no code when read, and configuration."""

from collections.abc import Mapping
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from training.contract.layout import MODEL_WEIGHTS_FILE, PYTORCH
from training.trainer.model_config import ModelConfig, read_config, write_config
from training.trainer.output import explained


def save_model(folder: Path, weights: Mapping[str, Tensor], config: ModelConfig) -> None:
    """Write weights and configuration, the latter last, each under its name only when whole.

    Args:
        folder: is made if it is not there.
        weights: whole tensors, by name.
        config: what the model is.

    Raises:
        OutputError: they cannot be written.
    """
    content = {name: tensor.cpu().contiguous() for name, tensor in weights.items()}
    with explained(folder, SafetensorError):
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = folder / f".{MODEL_WEIGHTS_FILE}.part"
        save_file(content, unfinished)
        unfinished.replace(folder / MODEL_WEIGHTS_FILE)
        write_config(folder, PYTORCH, config)


def load_config(folder: Path) -> ModelConfig:
    """Read a model's configuration.

    Raises:
        ContractError: there is none, it is of another framework, or the model is not complete.
    """
    return read_config(folder, PYTORCH)


def load_weights(folder: Path) -> dict[str, Tensor]:
    """Read the weights of a model whose configuration is complete."""
    return load_file(folder / MODEL_WEIGHTS_FILE)
