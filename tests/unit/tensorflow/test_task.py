from dataclasses import replace

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.unit.tensorflow.test_vocabulary import packed
from training.contract.hyperparameters import TrainingHyperparameters
from training.tensorflow.task import TextTask
from training.tensorflow.vocabulary import Vocabulary

VOCABULARY = Vocabulary(("free", "money", "free money", "meeting"))
SETTINGS = TrainingHyperparameters(
    vocabulary_size=6, sequence_length=4, embedding_dim=4, hidden_dim=3, seed=3, dtype="float64"
)
TEXTS = ("Free money!", "", "a meeting", "money free money meeting")


@pytest.fixture
def task() -> TextTask:
    return TextTask(SETTINGS, VOCABULARY)


def test_ngrams_are_rows_of_the_table(task: TextTask) -> None:
    found = task.encode_texts(packed(TEXTS))
    # Rows less one: 0 is a word that is not listed, and padding has no row in a ragged form.
    assert [
        found.ids[first:last].tolist()
        for first, last in zip(found.offsets, found.offsets[1:], strict=False)
    ] == [[1, 2, 3], [], [0, 4, 0], [2, 1, 2, 4]]


def test_batches_are_as_wide_as_their_longest_text(task: TextTask) -> None:
    labels = np.array([1, 0, 0])
    inputs = task.make_inputs(task.encode_texts(packed(TEXTS[:3])), labels)
    assert inputs.ngrams.tolist() == [[2, 3, 4], [0, 0, 0], [1, 5, 1]]
    assert inputs.labels.dtype == np.float64


def test_the_same_seed_makes_the_same_weights() -> None:
    first, again = (
        [w.numpy() for w in TextTask(SETTINGS, VOCABULARY).build_model().weights] for _ in "12"
    )
    other = TextTask(replace(SETTINGS, seed=4), VOCABULARY).build_model()
    assert all((one == two).all() for one, two in zip(first, again, strict=True))
    assert (other.weights[0].numpy() != first[0]).any()
    assert {weight.dtype for weight in first} == {np.dtype("float64")}


def test_the_largest_seed() -> None:
    TextTask(replace(SETTINGS, seed=2**63 - 1), VOCABULARY).build_model()


def test_padding_changes_nothing(task: TextTask) -> None:
    model = task.build_model()
    inputs = task.make_inputs(task.encode_texts(packed(TEXTS)), np.zeros(4, np.int64))
    wider = np.pad(inputs.ngrams, ((0, 0), (0, 5)))
    assert np.allclose(model(inputs.ngrams), model(wider), rtol=0, atol=1e-15)


def test_a_text_without_words_is_legal(task: TextTask) -> None:
    logits = task.build_model()(task.filler().ngrams)
    assert np.isfinite(logits.numpy()).all()


def test_the_whole_model_takes_texts(task: TextTask) -> None:
    model = task.build_model()
    inputs = task.make_inputs(task.encode_texts(packed(TEXTS)), np.zeros(4, np.int64))
    logits = model(inputs.ngrams)
    probabilities = task.whole_model(model)(tf.constant(TEXTS))
    assert np.allclose(probabilities, tf.sigmoid(logits), rtol=0, atol=1e-15)


def test_losses_are_those_of_probabilities(task: TextTask) -> None:
    losses = task.record_losses(tf.constant([0.5, -2.0]), tf.constant([1.0, 1.0])).numpy()
    expected = -np.log(1 / (1 + np.exp([-0.5, 2.0])))
    assert np.allclose(losses, expected)


def test_a_vocabulary_without_words_is_legal() -> None:
    task = TextTask(SETTINGS, Vocabulary(()))
    inputs = task.make_inputs(
        task.encode_texts(packed(["...", "", "[none]"])), np.zeros(3, np.int64)
    )
    assert inputs.ngrams.tolist() == [[0], [0], [1]]
    assert np.isfinite(task.build_model()(inputs.ngrams).numpy()).all()


def test_only_this_tasks_numbers_are_of_its_type(task: TextTask) -> None:
    before = keras.config.floatx()
    model = task.build_model()
    optimizer = task.build_optimizer(model)
    optimizer.apply([tf.ones_like(weight) for weight in model.trainable_variables])
    assert keras.config.floatx() == before == "float32"
    numbers = {variable.dtype for variable in [*model.weights, *optimizer.variables]}
    assert numbers == {"float64", "int64"}  # the count of the steps among them


def test_the_learning_rate_is_exact(task: TextTask) -> None:
    rate = task.build_optimizer(task.build_model()).learning_rate
    assert float(rate) == SETTINGS.learning_rate
    assert SETTINGS.learning_rate != float(np.float32(SETTINGS.learning_rate))
