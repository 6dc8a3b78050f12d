"""What the training loop asks of a task. One class of this kind, in one file, is a model.

docs/bring-your-own-model.md writes one from scratch.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

import torch
from torch import Tensor, nn
from torch.optim import AdamW, Optimizer

from training.contract.hyperparameters import TrainingHyperparameters
from training.pytorch.encoding import encode_in_background
from training.pytorch.measures import Measure
from training.records import Batch, LoaderSettings, Shard

_DTYPES: Final = {"float32": torch.float32, "float64": torch.float64}

InputsT = TypeVar("InputsT", bound=tuple[Tensor, ...])
"""A NamedTuple of tensors: what the model takes of B records, and what it is to say of them."""


class Encoded(NamedTuple, Generic[InputsT]):
    """A batch and what was made of it."""

    batch: Batch
    inputs: InputsT
    """On the processor."""


class Task(ABC, Generic[InputsT]):
    """A model, inputs from records, a loss per record, and how good the model is."""

    measure: Measure
    """TwoClasses(), Classes(count) or Regression(), set in the class or in __init__."""

    def __init__(self, settings: TrainingHyperparameters) -> None:
        """Keep the hyperparameters as `self.settings`."""
        self.settings = settings

    @abstractmethod
    def build_model(self) -> nn.Module:
        """Make the model, called with one argument: a batch's inputs.

        Fresh weights may be drawn from torch's generator, which `new_model` has seeded.
        """

    @abstractmethod
    def encode(self, batch: Batch) -> InputsT:
        """Turn records into tensors on the processor. Runs in a background thread.

        Floating-point ones must be of `self.dtype`. Each record must stand for itself: which others
        it shares a batch with depends on the number of ranks.

        Raises:
            RecordError: a record cannot be used; `batch.locate(index)` says where it is.
        """

    @abstractmethod
    def record_losses(self, outputs: Any, inputs: InputsT) -> Tensor:  # noqa: ANN401 - the model's
        """Compute the loss of each record, shape (B,): not their mean, since ranks are uneven."""

    @abstractmethod
    def predict(self, outputs: Any) -> Tensor:  # noqa: ANN401 - the model's
        """Decide for each record, shape (B,): the number of a class, or a number."""

    @abstractmethod
    def targets(self, inputs: InputsT) -> Tensor:
        """Tell what `predict` should have said, shape (B,)."""

    def loader_settings(self, settings: LoaderSettings, shards: Sequence[Shard]) -> LoaderSettings:  # noqa: ARG002 - for those that care
        """Change how records are read, their output or columns for instance; as they are.

        Args:
            settings: as the hyperparameters want them.
            shards: what this host holds of a channel, maybe nothing.
        """
        return settings

    def build_optimizer(self, model: nn.Module) -> Optimizer:
        """Make the optimizer of a model's weights: AdamW."""
        # Fused: it goes over the weights once, also on processors, with the same result.
        return AdamW(model.parameters(), lr=self.settings.learning_rate, fused=True)

    def encode_ahead(self, batches: Iterable[Batch]) -> Iterator[Encoded[InputsT]]:
        """Encode batches in a background thread, in their order.

        Raises:
            RecordError: while iterating, where the batch would come.
        """
        for batch, inputs in encode_in_background(batches, self._encode_pinned):
            yield Encoded(batch, inputs)

    def _encode_pinned(self, batch: Batch) -> InputsT:
        return pinned(self.encode(batch))

    @property
    def dtype(self) -> torch.dtype:
        """Of weights and inputs."""
        return _DTYPES[self.settings.dtype]


def new_model(task: Task[Any]) -> nn.Module:
    """Make a model with fresh weights on the processor, the same in every process.

    They follow from the hyperparameters, seed included; torch's generator is left as it was.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(task.settings.seed)
        return task.build_model().to(task.dtype)


def pinned(inputs: InputsT) -> InputsT:
    """Move a batch to memory that GPUs copy from by themselves, where there is one."""
    if not torch.cuda.is_available():
        return inputs
    return type(inputs)(*(tensor.pin_memory() for tensor in inputs))


def to_device(inputs: InputsT, device: torch.device) -> InputsT:
    """Copy a batch to another device, without waiting where the memory is pinned."""
    if device.type == "cpu":
        return inputs
    return type(inputs)(*(tensor.to(device, non_blocking=True) for tensor in inputs))
