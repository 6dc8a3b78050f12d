"""In which numbers a model computes, while its weights stay in those of `dtype`."""

from dataclasses import dataclass
from typing import Literal

from training.contract.errors import ContractError
from training.contract.hyperparameters import TrainingHyperparameters

Numbers = Literal["off", "bf16", "fp16"]
"""off: those of `dtype`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """What a rank computes on."""

    name: str
    is_gpu: bool
    has_bf16: bool
    """Processors all have, most of them no faster."""


def choose_numbers(settings: TrainingHyperparameters, device: Device) -> Numbers:
    """Choose what mixed_precision asks for.

    Raises:
        ContractError: this device has no such numbers, or they are less than `dtype` asks for.
    """
    chosen = settings.mixed_precision
    if chosen == "off":
        return "off"
    if settings.dtype == "float64":
        raise ContractError(
            f"mixed_precision is {chosen} and dtype is float64, which is for comparing runs digit "
            "by digit. Set mixed_precision to off or dtype to float32."
        )
    if chosen == "auto":
        on_gpu: Numbers = "bf16" if device.has_bf16 else "fp16"
        return on_gpu if device.is_gpu else "off"
    if chosen == "bf16" and not device.has_bf16:
        raise ContractError(
            f"mixed_precision is bf16, which {device.name} does not have. Set it to auto or fp16, "
            "or choose an instance type with newer GPUs."
        )
    return chosen
