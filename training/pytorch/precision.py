"""In which numbers a model computes, while its weights stay in those of `dtype`."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from types import MappingProxyType
from typing import Final

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from training.contract.hyperparameters import TrainingHyperparameters
from training.trainer.precision import Device, Numbers, choose_numbers

_TYPES: Final[Mapping[Numbers, torch.dtype]] = MappingProxyType(
    {"bf16": torch.bfloat16, "fp16": torch.float16}
)


_AS_IT_IS: Final = nullcontext()


class Precision:
    """Autocast for the forward pass, and what keeps small gradients of fp16 from vanishing."""

    def __init__(self, settings: TrainingHyperparameters, device: torch.device) -> None:
        """Choose the numbers.

        Raises:
            ContractError: this device has no such numbers, or they are less than `dtype` asks for.
        """
        self.dtype = _autocast_type(settings, device)
        self._device = device
        self._of_loss: Tensor | None = None
        self._factor = 1.0
        # Only fp16 has too few exponents for gradients; switched off it lets everything through.
        self.scaler = torch.amp.GradScaler(device.type, enabled=self.dtype is torch.float16)

    def autocast(self) -> AbstractContextManager[object]:
        """Let what is computed inside use the chosen numbers."""
        if self.dtype is None:
            return _AS_IT_IS  # torch's own takes its time, though it does nothing
        return torch.autocast(self._device.type, self.dtype)

    def backward(self, loss: Tensor, factor: float = 1.0) -> None:
        """Add the gradients of a loss, times a factor, to those of the weights, scaled."""
        # Backward begins with a number anyway: it takes no multiplication, nor that one's gradient.
        # It is the same one in most steps.
        if self._of_loss is None or factor != self._factor:
            self._of_loss, self._factor = torch.full_like(loss, factor), factor
        loss.backward(self.scaler.scale(self._of_loss))  # type: ignore[no-untyped-call] # torch leaves it without annotations

    def update(self, model: nn.Module, optimizer: Optimizer, max_grad_norm: float) -> None:
        """Take the optimizer's step with the gradients as they are, clipped if asked for.

        Args:
            model: its gradients are those of all ranks' records.
            optimizer: of the model's weights.
            max_grad_norm: the largest norm of all gradients together; 0: any.
        """
        if max_grad_norm:
            self.scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm)
        self.scaler.step(optimizer)
        self.scaler.update()


def use_tensor_cores(settings: TrainingHyperparameters) -> None:
    """Let GPUs multiply float32 matrices as TF32, which keeps 10 of 23 bits, if allowed."""
    torch.backends.cuda.matmul.allow_tf32 = settings.tf32
    torch.backends.cudnn.allow_tf32 = settings.tf32


def _autocast_type(settings: TrainingHyperparameters, device: torch.device) -> torch.dtype | None:
    return _TYPES.get(choose_numbers(settings, _described(device)))


def _described(device: torch.device) -> Device:
    on_gpu = device.type == "cuda"
    return Device(
        name=torch.cuda.get_device_name(device) if on_gpu else "this processor",
        is_gpu=on_gpu,
        has_bf16=not on_gpu or torch.cuda.is_bf16_supported(including_emulation=False),
    )
