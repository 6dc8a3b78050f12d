"""Texts as bags of n-grams: hashed, each with a row of an embedding table, summed."""

from typing import Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from training.contract.hyperparameters import TrainingHyperparameters
from training.records.encoding import NgramEncoder, Ragged
from training.records.packed import Packed

_INITIAL_SCALE: Final = 0.1
"""Deviation of the initial embeddings: small, so that what was never trained says little."""


class BagInputs(NamedTuple):
    """A batch of B records with N n-grams in all."""

    ngrams: Tensor
    """Rows of the embedding table, record after record; integers of shape (N,)."""
    starts: Tensor
    """Where each record begins in `ngrams`; integers of shape (B,)."""
    weights: Tensor
    """Of each n-gram; shape (N,). 1 / sqrt(n-grams of its record): length says nothing of spam."""
    labels: Tensor
    """0 or 1; shape (B,)."""


class BagClassifier(nn.Module):
    """Weighted bag of embeddings -> one hidden layer -> logit of label 1."""

    def __init__(self, settings: TrainingHyperparameters) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(settings.hash_buckets, settings.embedding_dim, mode="sum")
        nn.init.normal_(self.bag.weight, std=_INITIAL_SCALE)
        self.hidden = nn.Linear(settings.embedding_dim, settings.hidden_dim)
        self.output = nn.Linear(settings.hidden_dim, 1)

    def forward(self, inputs: BagInputs) -> Tensor:
        """Compute the logits, shape (B,)."""
        bags = self.bag(inputs.ngrams, inputs.starts, per_sample_weights=inputs.weights)
        logits: Tensor = self.output(functional.relu(self.hidden(bags)))
        return logits.squeeze(1)


class Bags:
    """The architecture `bag`."""

    def __init__(self, settings: TrainingHyperparameters) -> None:
        self._settings = settings
        self._encoder = NgramEncoder(buckets=settings.hash_buckets, ngrams=settings.ngrams)

    def build_model(self) -> BagClassifier:
        """Make the model."""
        return BagClassifier(self._settings)

    def encode_texts(self, texts: Packed) -> Ragged:
        """Find each text's distinct n-grams; one without any word is legal: its bag is zero."""
        return self._encoder.bags(texts)

    def make_inputs(self, ids: Ragged, labels: NDArray[np.int64]) -> BagInputs:
        """Make tensors of the n-grams of B texts, and of labels, shape (B,)."""
        counts = np.diff(ids.offsets)
        weights = np.maximum(counts, 1) ** -0.5
        dtype = self._settings.dtype
        return BagInputs(
            ngrams=torch.from_numpy(ids.ids),
            starts=torch.from_numpy(ids.offsets[:-1]),
            weights=torch.from_numpy(weights.repeat(counts).astype(dtype)),
            labels=torch.from_numpy(labels.astype(dtype)),
        )
