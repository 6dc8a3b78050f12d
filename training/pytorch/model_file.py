"""The model on disk: weights as safetensors, which run no code when read, and their configuration.

The configuration is written last and says `complete: true`: a folder without it holds no model.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file
from torch import Tensor

from training.contract.errors import ContractError
from training.contract.hyperparameters import TrainingHyperparameters
from training.contract.json_files import read_object
from training.contract.layout import MODEL_CONFIG_FILE, MODEL_WEIGHTS_FILE, PYTORCH


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """What one needs to know to use a model, and where it comes from."""

    hyperparameters: TrainingHyperparameters
    """The task among them."""
    epochs: int
    """Passes over the training records that were done."""
    records: int
    """Training records of all hosts in one epoch."""
    data_digest: str | None
    """Of the training data as Preflight saw it; None where no Preflight ran."""


def save_model(folder: Path, weights: Mapping[str, Tensor], config: ModelConfig) -> None:
    """Write weights and configuration, the latter last, each under its name only when whole.

    Args:
        folder: is made if it is not there.
        weights: whole tensors, by name.
        config: what the model is.
    """
    folder.mkdir(parents=True, exist_ok=True)
    content = {"framework": PYTORCH, **asdict(config), "complete": True}
    unfinished = folder / f".{MODEL_WEIGHTS_FILE}.part"
    save_file({name: tensor.cpu().contiguous() for name, tensor in weights.items()}, unfinished)
    unfinished.replace(folder / MODEL_WEIGHTS_FILE)
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
    if content.get("framework") != PYTORCH:
        raise ContractError(
            f"{MODEL_CONFIG_FILE} says framework: {content.get('framework')!r}. Allowed: "
            f"{PYTORCH}. Evaluate the model with its own framework's image."
        )
    return _config(file, content)


def load_weights(folder: Path) -> dict[str, Tensor]:
    """Read the weights of a model whose configuration is complete."""
    return load_file(folder / MODEL_WEIGHTS_FILE)


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
