"""A model from disk against a test set."""

from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from training.contract.errors import ContractError
from training.pytorch.model_file import load_config, load_weights
from training.pytorch.task import Task, new_model
from training.pytorch.tasks import make_task
from training.records import LoaderSettings, RecordError, RecordLoader, find_shards
from training.steps.quality import Quality

_BATCH_SIZE: Final = 256


@torch.no_grad()
def count_predictions(model_folder: Path, test_folder: Path) -> Quality:
    """Predict every test record, in one process.

    Raises:
        ContractError: the model is not complete, or its task is not here.
        RecordError: a test record cannot be used, or there is none.
    """
    task = make_task(load_config(model_folder).hyperparameters)
    model = new_model(task)
    model.load_state_dict(_finite(load_weights(model_folder)))
    model.eval()
    sums = torch.zeros(task.measure.size, dtype=torch.float64)
    for _, inputs in task.encode_ahead(_test_data(task, test_folder).epoch(0)):
        sums += task.measure.sums(task.predict(model(inputs)), task.targets(inputs))
    quality = task.measure.quality(sums.tolist())
    if quality.records == 0:
        raise RecordError(
            f"{test_folder} holds no records, so there is nothing to judge the model by. Put "
            "shards under TestDataUri."
        )
    return quality


def _test_data(task: Task[Any], folder: Path) -> RecordLoader:
    chosen = task.settings.chosen_format
    shards = find_shards(folder, chosen_format=chosen)
    settings = LoaderSettings(batch_size=_BATCH_SIZE, seed=0, shuffle=False, format=chosen)
    return RecordLoader(shards, settings=task.loader_settings(settings, shards), part=0, parts=1)


def _finite(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Refuse weights that no record could get a sensible answer from.

    Raises:
        ContractError: names the weights that are not numbers.
    """
    broken = [name for name, tensor in weights.items() if not torch.isfinite(tensor).all()]
    if broken:
        raise ContractError(
            f"The model's {', '.join(broken)} are not finite: the training ran away. Train again "
            "with a lower learning_rate."
        )
    return weights
