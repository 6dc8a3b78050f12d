"""The task `text`: text in, the probability of label 1 out."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from training.contract.hyperparameters import TrainingHyperparameters
from training.pytorch.measures import TwoClasses
from training.pytorch.task import Encoded, Task, pinned
from training.pytorch.tasks.text_bag import BagInputs, Bags
from training.pytorch.tasks.text_transformer import SequenceInputs, Sequences
from training.records import Batch, LoaderSettings, Shard
from training.records.encoding import Ragged, encode_ahead, read_examples
from training.records.packed import Packed
from training.trainer.data import read_examples_fast

TextInputs = BagInputs | SequenceInputs


class Architecture(Protocol):
    """A model of texts, and what it takes."""

    def build_model(self) -> nn.Module:
        """Make the model: inputs to the logits of label 1, shape (B,)."""
        ...

    def encode_texts(self, texts: Packed) -> Ragged:
        """Turn texts into integers, each on its own; without tensors, in any thread."""
        ...

    def make_inputs(self, ids: Ragged, labels: NDArray[np.int64]) -> TextInputs:
        """Make tensors of B encoded texts, and of their labels, 0 or 1, shape (B,)."""
        ...


_ARCHITECTURES: Final[Mapping[str, Callable[[TrainingHyperparameters], Architecture]]] = (
    MappingProxyType({"bag": Bags, "transformer": Sequences})
)


class TextTask(Task[TextInputs]):
    """Tells texts labelled 1 from those labelled 0: `{"text": ..., "label": 0 or 1}`."""

    measure = TwoClasses()

    def __init__(self, settings: TrainingHyperparameters) -> None:
        super().__init__(settings)
        self._architecture = _ARCHITECTURES[settings.architecture](settings)

    def build_model(self) -> nn.Module:
        """Make the architecture's model."""
        return self._architecture.build_model()

    def loader_settings(self, settings: LoaderSettings, shards: Sequence[Shard]) -> LoaderSettings:
        """Read records in the way that takes least time to encode."""
        return read_examples_fast(settings, shards)

    def encode(self, batch: Batch) -> TextInputs:
        """Turn records into tensors.

        Raises:
            RecordError: a record lacks its text or label, or has another type of it.
        """
        texts, labels = read_examples(batch)
        return self._architecture.make_inputs(self._architecture.encode_texts(texts), labels)

    def encode_ahead(self, batches: Iterable[Batch]) -> Iterator[Encoded[TextInputs]]:
        """Encode in a background thread, many batches at once: that takes a fraction of the time.

        Raises:
            RecordError: while iterating, as `encode` does.
        """
        make_inputs = self._architecture.make_inputs
        for batch, ids, labels in encode_ahead(batches, self._architecture.encode_texts):
            yield Encoded(batch, pinned(make_inputs(ids, labels)))

    def record_losses(self, outputs: Tensor, inputs: TextInputs) -> Tensor:
        """Compute the cross entropy of each record, shape (B,)."""
        return functional.binary_cross_entropy_with_logits(outputs, inputs.labels, reduction="none")

    def predict(self, outputs: Tensor) -> Tensor:
        """Decide on 0 or 1 for each record, shape (B,)."""
        return (outputs > 0).long()

    def targets(self, inputs: TextInputs) -> Tensor:
        """Tell the labels, shape (B,)."""
        return inputs.labels
