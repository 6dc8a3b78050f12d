"""A model from disk against a test set."""

from pathlib import Path
from typing import Final

import keras
import numpy as np
import tensorflow as tf

from training.contract.errors import ContractError
from training.records import LoaderSettings, RecordError, RecordLoader, find_shards
from training.records.encoding import example_output, read_examples
from training.steps.confusion import Confusion
from training.tensorflow.model_file import load_config, load_model
from training.tensorflow.strings import cut

_BATCH_SIZE: Final = 256
_LIKELY: Final = 0.5


def count_predictions(model_folder: Path, test_folder: Path) -> Confusion:
    """Predict every test record, in one process.

    Raises:
        ContractError: the model is not complete.
        RecordError: a test record cannot be used, or there is none.
    """
    chosen = load_config(model_folder).hyperparameters.chosen_format
    model = _finite(load_model(model_folder))
    predict = tf.function(model, input_signature=[tf.TensorSpec([None], tf.string)])
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
    counts = np.zeros(4, np.int64)
    for batch in loader.epoch(0):
        texts, labels = read_examples(batch)
        predicted = predict(tf.constant(cut(texts), tf.string)).numpy() > _LIKELY
        counts += np.bincount(2 * labels + predicted, minlength=4)  # labelled 1 counts 2
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


def _finite(model: keras.Model) -> keras.Model:
    """Refuse weights that no record could get a sensible answer from.

    Raises:
        ContractError: names the weights that are not numbers.
    """
    broken = [w.path for w in model.weights if not np.isfinite(w.numpy()).all()]
    if broken:
        raise ContractError(
            f"The model's {', '.join(broken)} are not finite: the training ran away. Train again "
            "with a lower learning_rate."
        )
    return model
