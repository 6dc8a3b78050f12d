"""Texts as sequences of words: hashed, embedded with their places, read by a transformer."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from training.contract.errors import ContractError
from training.contract.hyperparameters import TrainingHyperparameters
from training.records.encoding import NgramEncoder, Ragged
from training.records.packed import Packed


class SequenceInputs(NamedTuple):
    """A batch of B records of up to W words."""

    words: Tensor
    """1 to hash_buckets, 0 behind a text's last word; integers of shape (B, W)."""
    labels: Tensor
    """0 or 1; shape (B,)."""


class TransformerClassifier(nn.Module):
    """Words and a start token -> transformer layers -> logit of label 1 at the start token."""

    def __init__(self, settings: TrainingHyperparameters) -> None:
        super().__init__()
        width = settings.embedding_dim
        self.words = nn.Embedding(settings.hash_buckets + 1, width, padding_idx=0)
        self.places = nn.Parameter(torch.randn(settings.max_words + 1, width) * 0.02)
        layer = nn.TransformerEncoderLayer(
            width,
            settings.attention_heads,
            dim_feedforward=settings.hidden_dim,
            dropout=0.0,
            activation="gelu",
            batch_first=True,
            norm_first=True,
        )
        self.encoder = nn.TransformerEncoder(layer, settings.layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(width)
        self.output = nn.Linear(width, 1)

    def forward(self, inputs: SequenceInputs) -> Tensor:
        """Compute the logits, shape (B,)."""
        records, words = inputs.words.shape
        # The start token is never masked: a text without words has something to attend to.
        tokens = torch.cat([inputs.words.new_zeros(records, 1), inputs.words], dim=1)
        is_padding = tokens == 0
        is_padding[:, 0] = False
        embedded = self.words(tokens) + self.places[: words + 1]
        read = self.encoder(embedded, src_key_padding_mask=is_padding)
        logits: Tensor = self.output(self.norm(read[:, 0]))
        return logits.squeeze(1)


class Sequences:
    """The architecture `transformer`."""

    def __init__(self, settings: TrainingHyperparameters) -> None:
        if settings.embedding_dim % settings.attention_heads:
            raise ContractError(
                f"embedding_dim is {settings.embedding_dim}, which attention_heads "
                f"{settings.attention_heads} does not divide. Set embedding_dim to a multiple."
            )
        self._settings = settings
        self._encoder = NgramEncoder(buckets=settings.hash_buckets)

    def build_model(self) -> TransformerClassifier:
        """Make the model."""
        return TransformerClassifier(self._settings)

    def encode_texts(self, texts: Packed) -> Ragged:
        """Find each text's words, in order."""
        return self._encoder.sequences(texts)

    def make_inputs(self, ids: Ragged, labels: NDArray[np.int64]) -> SequenceInputs:
        """Make tensors of the words of B texts, and of labels, shape (B,).

        A batch is as wide as its longest text, at most `max_words`.
        """
        longest = int(np.diff(ids.offsets).max(initial=0))
        return SequenceInputs(
            words=torch.from_numpy(ids.pad(min(longest, self._settings.max_words))),
            labels=torch.from_numpy(labels.astype(self._settings.dtype)),
        )
