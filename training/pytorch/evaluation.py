"""A model from disk against a test set."""

from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from training.contract.errors import ContractError
from training.pytorch.model_file import load_config, load_weights
from training.pytorch.task import TextTask
from training.records import LoaderSettings, RecordError, RecordLoader, find_shards
from training.records.encoding import example_output
from training.steps.confusion import Confusion

_BATCH_SIZE: Final = 256


@torch.no_grad()
def count_predictions(model_folder: Path, test_folder: Path) -> Confusion:
    """Predict every test record, in one process.

    Raises:
        ContractError: the model is not complete, or not one of this task.
        RecordError: a test record cannot be used, or there is none.
    """
    config = load_config(model_folder)
    if config.task != TextTask.name:
        raise ContractError(
            f"The model is for task {config.task!r}. Allowed: {TextTask.name}. Evaluate it with "
            "the code it was trained with."
        )
    task = TextTask(config.hyperparameters)
    model = task.build_model()
    model.load_state_dict(_finite(load_weights(model_folder)))
    model.eval()
    chosen = config.hyperparameters.chosen_format
    shards = find_shards(test_folder, chosen_format=chosen)
    loader = RecordLoader(
        shards,
        settings=LoaderSettings(
            batch_size=_BATCH_SIZE,
            seed=0,
            shuffle=False,
            format=chosen,
            output=example_output(shards, chosen),
        ),
        part=0,
        parts=1,
    )
    counts = torch.zeros(4, dtype=torch.int64)
    for batch in loader.epoch(0):
        inputs = task.encode(batch)
        cells = 2 * inputs.labels + task.predict(model(inputs))  # labelled 1 counts 2, predicted 1
        counts += torch.bincount(cells.long(), minlength=4)
    if counts.sum() == 0:
        raise RecordError(
            f"{test_folder} holds no records, so there is nothing to judge the model by. Put "
            "JSON Lines shards under TestDataUri."
        )
    true_negatives, false_positives, false_negatives, true_positives = counts.tolist()
    return Confusion(
        true_negatives=true_negatives,
        false_positives=false_positives,
        false_negatives=false_negatives,
        true_positives=true_positives,
    )


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
