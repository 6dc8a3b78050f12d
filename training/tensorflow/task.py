"""The task: text in, the probability of label 1 out. Replace this file to train something else."""

from typing import Any, Final, NamedTuple

import keras
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from training.contract.hyperparameters import TrainingHyperparameters
from training.records import Batch
from training.records.encoding import Ragged, read_examples
from training.records.packed import Packed
from training.tensorflow.precision import product_policy
from training.tensorflow.schedule import ExactRate
from training.tensorflow.strings import cut
from training.tensorflow.vocabulary import SPECIAL_ROWS, Vocabulary

_NO_WORD: Final = "[none]"
"""Listed where there is no word to list, for Keras wants one: no text has it, for its brackets."""
_FEWEST_COLUMNS: Final = 16
"""Of compiled models' inputs, which are powers of two."""
_INITIAL_SCALE: Final = 0.1
"""Deviation of the initial embeddings: small, so that what was never trained says little."""


class Inputs(NamedTuple):
    """A batch of B records, the longest of N n-grams, as arrays of the processor."""

    ngrams: NDArray[np.int64]
    """Rows of the embedding table, 0 where a record has no more; shape (B, N)."""
    labels: NDArray[Any]
    """0 or 1; shape (B,)."""


class TextTask:
    """What the training loop asks of a task: a model, inputs from records, a loss per record."""

    def __init__(self, hyperparameters: TrainingHyperparameters, vocabulary: Vocabulary) -> None:
        self._hyperparameters = hyperparameters
        self.vocabulary = vocabulary
        self._words = list(vocabulary.words) or [_NO_WORD]
        vectorize = self.vectorizer(ragged=True)
        self._vectorize = tf.function(
            lambda texts: _parts(vectorize(texts)),
            input_signature=[tf.TensorSpec([None], tf.string)],
        )

    def vectorizer(self, *, ragged: bool) -> keras.layers.TextVectorization:
        """Make the layer from texts to n-grams.

        Args:
            ragged: the n-grams of each text; else rows of `sequence_length`.
        """
        return keras.layers.TextVectorization(
            max_tokens=self._hyperparameters.vocabulary_size,
            ngrams=self._hyperparameters.ngrams,
            output_sequence_length=self._hyperparameters.sequence_length,
            ragged=ragged,
            vocabulary=self._words,
        )

    def build_model(self) -> keras.Model:
        """Make a model of n-grams with fresh weights, which follow from the hyperparameters.

        Embedding -> sum over the text, divided by the root of its n-grams' number, since length
        says nothing of spam -> one hidden layer -> logit of label 1.
        """
        settings = self._hyperparameters
        seeds = np.random.SeedSequence(settings.seed).generate_state(3).tolist()
        ngrams = keras.Input((None,), dtype="int64")
        rows = keras.layers.Embedding(
            len(self._words) + SPECIAL_ROWS,
            settings.embedding_dim,
            dtype=settings.dtype,
            embeddings_initializer=keras.initializers.RandomNormal(
                stddev=_INITIAL_SCALE, seed=seeds[0]
            ),
        )(ngrams)
        counted = keras.ops.cast(keras.ops.not_equal(ngrams, 0), settings.dtype)
        sums = keras.ops.sum(rows * keras.ops.expand_dims(counted, -1), axis=1)
        lengths = keras.ops.maximum(keras.ops.sum(counted, axis=1, keepdims=True), 1)
        hidden = keras.layers.Dense(
            settings.hidden_dim,
            dtype=product_policy(settings),
            activation="relu",
            kernel_initializer=keras.initializers.GlorotUniform(seed=seeds[1]),
        )(sums / keras.ops.sqrt(lengths))
        logits = keras.layers.Dense(
            1,
            dtype=product_policy(settings),
            kernel_initializer=keras.initializers.GlorotUniform(seed=seeds[2]),
        )(hidden)
        return keras.Model(ngrams, keras.ops.cast(keras.ops.squeeze(logits, -1), settings.dtype))

    def build_optimizer(
        self, model: keras.Model, rate: ExactRate | None = None
    ) -> keras.optimizers.Optimizer:
        """Make the optimizer of a model's weights, with PyTorch's defaults of AdamW.

        Args:
            model: its weights are to be trained.
            rate: a learning rate that changes; None: that of the hyperparameters.
        """
        rate = rate or ExactRate(self._hyperparameters.learning_rate)
        optimizer = keras.optimizers.AdamW(rate, weight_decay=0.01, epsilon=1e-8)
        optimizer.build(model.trainable_variables)
        return optimizer

    def whole_model(self, model: keras.Model) -> keras.Model:
        """Put the vectorizer before a model and the sigmoid behind: text in, probability out."""
        texts = keras.Input((), dtype="string")
        logits = model(self.vectorizer(ragged=False)(texts))
        return keras.Model(texts, keras.ops.sigmoid(logits))

    def encode(self, batch: Batch) -> Inputs:
        """Turn records `{"text": ..., "label": 0 or 1}` into arrays.

        A text without any word is legal: its sum is zero.

        Raises:
            RecordError: a record lacks its text or label, or has another type of it.
        """
        texts, labels = read_examples(batch)
        return self.make_inputs(self.encode_texts(texts), labels)

    def encode_texts(self, texts: Packed) -> Ragged:
        """Turn texts into n-grams, each text on its own; in any thread."""
        ids, offsets = self._vectorize(tf.constant(cut(texts), tf.string))
        # 0 is for padding only, which `Ragged` has none of.
        return Ragged(ids.numpy() - 1, offsets.numpy())

    def make_inputs(self, ngrams: Ragged, labels: NDArray[np.int64]) -> Inputs:
        """Make arrays of B encoded texts, and of their labels, 0 or 1, shape (B,)."""
        longest = int(np.diff(ngrams.offsets).max(initial=1))
        if self._hyperparameters.compile:
            # XLA makes kernels for every shape: let there be few.
            longest = max(1 << (longest - 1).bit_length(), _FEWEST_COLUMNS)
        return Inputs(ngrams=ngrams.pad(longest), labels=labels.astype(self._hyperparameters.dtype))

    def filler(self) -> Inputs:
        """Make a batch of one record for a rank that has run out; its loss gets weight 0."""
        nothing = Ragged(np.empty(0, np.int64), np.zeros(2, np.int64))
        return self.make_inputs(nothing, np.zeros(1, np.int64))

    def record_losses(self, logits: Any, labels: Any) -> Any:  # noqa: ANN401 - TensorFlow has no types
        """Compute the loss of each record, shape (B,)."""
        return tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    def predict(self, logits: Any) -> Any:  # noqa: ANN401 - TensorFlow has no types
        """Decide on 0 or 1 for each record, shape (B,)."""
        return tf.cast(logits > 0, logits.dtype)


def _parts(ragged: Any) -> tuple[Any, Any]:  # noqa: ANN401 - TensorFlow has no types
    return ragged.values, ragged.row_splits
