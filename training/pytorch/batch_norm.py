"""Batch normalization where ranks are uneven: statistics of the records, all of them, once.

torch's DDP hands out those of global rank 0, which may have seen few records or none. Here every
rank gathers statistics of its own, fillers change none, and after an epoch they are put together,
each rank's by the number of its records.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from training.contract.errors import ContractError
from training.pytorch.ranks import Ranks

_NONE_KEPT: Final = nullcontext()


class Statistics:
    """The batch normalizations of a model."""

    def __init__(self, model: nn.Module) -> None:
        """Find them.

        Raises:
            ContractError: one is a SyncBatchNorm, which waits for ranks that have run out.
        """
        for name, module in model.named_modules():
            if isinstance(module, nn.SyncBatchNorm):
                raise ContractError(
                    f"The model's {name} is a SyncBatchNorm, for which every rank needs records in "
                    "every step. Use BatchNorm, whose statistics are put together after each "
                    "epoch, or GroupNorm."
                )
        self._norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]

    def kept(self, *, when: bool = True) -> AbstractContextManager[None]:
        """Let a forward pass inside change none of them, if `when` says so."""
        return self._kept() if when else _NONE_KEPT

    @contextmanager
    def _kept(self) -> Iterator[None]:
        training = [norm for norm in self._norms if norm.training]
        for norm in training:
            norm.eval()
        yield
        for norm in training:
            norm.train()

    @torch.no_grad()
    def share(self, counts: Sequence[int], ranks: Ranks) -> None:
        """Give all ranks the statistics of all records; all ranks must call it.

        Args:
            counts: records that each rank has trained on since the last call, at least one in all.
            ranks: this process among all.
        """
        weight = counts[ranks.rank] / sum(counts)
        for norm in self._norms:
            mean, variance, seen = norm.running_mean, norm.running_var, norm.num_batches_tracked
            if mean is None or variance is None or seen is None:
                continue
            # Of a mixture: the mean of the second moments, less the square of the mean.
            moments = torch.stack([mean, variance + mean.square()]).double() * weight
            shared_mean, shared_square = ranks.sum_tensor(moments)
            mean.copy_(shared_mean)
            variance.copy_(shared_square - shared_mean.square())
            seen.copy_(ranks.sum_tensor(seen))
