"""The task: text in, the probability of label 1 out. Replace this file to train something else."""

from typing import Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.optim import AdamW, Optimizer

from training.contract.hyperparameters import TrainingHyperparameters
from training.records import Batch
from training.records.encoding import NgramEncoder, Ragged, read_examples
from training.records.packed import Packed

_DTYPES: Final = {"float32": torch.float32, "float64": torch.float64}
_INITIAL_SCALE: Final = 0.1
"""Deviation of the initial embeddings: small, so that what was never trained says little."""


class Inputs(NamedTuple):
    """A batch of B records with N n-grams in all, on one device."""

    ngrams: Tensor
    """Rows of the embedding table, record after record; integers of shape (N,)."""
    starts: Tensor
    """Where each record begins in `ngrams`; integers of shape (B,)."""
    weights: Tensor
    """Of each n-gram; shape (N,). 1 / sqrt(n-grams of its record): length says nothing of spam."""
    labels: Tensor
    """0 or 1; shape (B,)."""

    def to(self, device: torch.device) -> "Inputs":
        """The same batch on another device."""
        return Inputs(*(tensor.to(device) for tensor in self))


class TextClassifier(nn.Module):
    """Hashed n-grams -> weighted bag of embeddings -> one hidden layer -> logit of label 1."""

    def __init__(self, hyperparameters: TrainingHyperparameters) -> None:
        super().__init__()
        embedding_dim, hidden_dim = hyperparameters.embedding_dim, hyperparameters.hidden_dim
        self.bag = nn.EmbeddingBag(hyperparameters.hash_buckets, embedding_dim, mode="sum")
        nn.init.normal_(self.bag.weight, std=_INITIAL_SCALE)
        self.hidden = nn.Linear(embedding_dim, hidden_dim)
        self.output = nn.Linear(hidden_dim, 1)

    def forward(self, inputs: Inputs) -> Tensor:
        """Compute the logits, shape (B,)."""
        bags = self.bag(inputs.ngrams, inputs.starts, per_sample_weights=inputs.weights)
        logits: Tensor = self.output(functional.relu(self.hidden(bags)))
        return logits.squeeze(1)


class TextTask:
    """What the training loop asks of a task: a model, inputs from records, a loss per record."""

    name: Final = "binary-text-classification"

    def __init__(self, hyperparameters: TrainingHyperparameters) -> None:
        self._hyperparameters = hyperparameters
        self._dtype = _DTYPES[hyperparameters.dtype]
        self._encoder = NgramEncoder(
            buckets=hyperparameters.hash_buckets, ngrams=hyperparameters.ngrams
        )

    def build_model(self) -> TextClassifier:
        """Make a model with fresh weights. They follow from the hyperparameters, seed included."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self._hyperparameters.seed)
            return TextClassifier(self._hyperparameters).to(self._dtype)

    def build_optimizer(self, model: nn.Module) -> Optimizer:
        """Make the optimizer of a model's weights."""
        # Fused: the plain one spends most of a step on the embeddings' rows, also on processors.
        return AdamW(model.parameters(), lr=self._hyperparameters.learning_rate, fused=True)

    def encode(self, batch: Batch) -> Inputs:
        """Turn records `{"text": ..., "label": 0 or 1}` into tensors on the processor.

        A text without any word is legal: its bag is zero.

        Raises:
            RecordError: a record lacks its text or label, or has another type of it.
        """
        texts, labels = read_examples(batch)
        return self.make_inputs(self.encode_texts(texts), labels)

    def encode_texts(self, texts: Packed) -> Ragged:
        """Turn texts into n-grams, each text on its own; without tensors, in any thread."""
        return self._encoder.bags(texts)

    def make_inputs(self, ngrams: Ragged, labels: NDArray[np.int64]) -> Inputs:
        """Make tensors on the processor of what `encode_texts` returned; labels are 0 or 1."""
        counts = np.diff(ngrams.offsets)
        weights = np.maximum(counts, 1) ** -0.5
        dtype = self._hyperparameters.dtype
        return Inputs(
            ngrams=torch.from_numpy(ngrams.ids),
            starts=torch.from_numpy(ngrams.offsets[:-1]),
            weights=torch.from_numpy(weights.repeat(counts).astype(dtype)),
            labels=torch.from_numpy(labels.astype(dtype)),
        )

    def filler(self) -> Inputs:
        """Make a batch of one record for a rank that has run out; its loss gets weight 0."""
        nothing = Ragged(np.empty(0, np.int64), np.zeros(2, np.int64))
        return self.make_inputs(nothing, np.zeros(1, np.int64))

    def record_losses(self, logits: Tensor, inputs: Inputs) -> Tensor:
        """Compute the loss of each record, shape (B,)."""
        return functional.binary_cross_entropy_with_logits(logits, inputs.labels, reduction="none")

    def predict(self, logits: Tensor) -> Tensor:
        """Decide on 0 or 1 for each record, shape (B,)."""
        return (logits > 0).to(logits.dtype)
