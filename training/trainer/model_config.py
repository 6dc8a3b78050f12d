"""The configuration of a model on disk: what it is, and that it is whole.

It is written last and says `complete: true`: a folder without it holds no model.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from training.contract.errors import ContractError
from training.contract.hyperparameters import TrainingHyperparameters
from training.contract.json_files import read_object
from training.contract.layout import MODEL_CONFIG_FILE


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


def write_config(folder: Path, framework: str, config: ModelConfig) -> None:
    """Write a model's configuration, under its name only when whole.

    Args:
        folder: of the model, whose other files are all written.
        framework: that can read them.
        config: where the model comes from.
    """
    content = {"framework": framework, **asdict(config), "complete": True}
    unfinished = folder / f".{MODEL_CONFIG_FILE}.part"
    unfinished.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    unfinished.replace(folder / MODEL_CONFIG_FILE)


def read_config(folder: Path, framework: str) -> ModelConfig:
    """Read a model's configuration.

    Raises:
        ContractError: there is none, it is of another framework, or the model is not complete.
    """
    content = _content(folder)
    if content["complete"] is not True:
        raise ContractError(
            f"{MODEL_CONFIG_FILE} says complete: {json.dumps(content['complete'])}, so this "
            "model is half trained. Allowed: true, which a training writes at its very end. "
            "Train again to the end."
        )
    if content["framework"] != framework:
        raise ContractError(
            f"{MODEL_CONFIG_FILE} says framework: {content['framework']!r}. Allowed: {framework}. "
            "Evaluate the model with its own framework's image."
        )
    try:
        return ModelConfig(
            hyperparameters=TrainingHyperparameters(**content["hyperparameters"]),
            epochs=content["epochs"],
            records=content["records"],
            data_digest=content["data_digest"],
        )
    except (KeyError, TypeError) as error:
        raise ContractError(
            f"{MODEL_CONFIG_FILE} was not written by this release of the trainer ({error}). Train "
            "again, or evaluate with the release that the model is from."
        ) from None


def _content(folder: Path) -> dict[str, Any]:
    """Read the file, which other kinds of models have, too, by the same name.

    Raises:
        ContractError: it is not there or not of this project's trainers.
    """
    file = folder / MODEL_CONFIG_FILE
    content = read_object(file) if file.is_file() else {}
    if not {"complete", "framework"} <= content.keys():
        held = ", ".join(sorted(path.name for path in folder.iterdir())) or "nothing"
        raise ContractError(
            f"No trainer of this project has written this model: it has no {MODEL_CONFIG_FILE} of "
            f"theirs (it holds: {held:.300}). Evaluate knows their models only. Where `program` "
            "named a script of your own, take Evaluate's message as the end of the execution, or "
            "give the step a ContainerEntrypoint that knows your model and writes evaluation.json."
        )
    return content
