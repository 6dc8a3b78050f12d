from typing import Any

import pytest
import torch
from torch import nn

from training.contract.errors import ContractError
from training.contract.hyperparameters import TrainingHyperparameters
from training.pytorch.precision import Precision, use_tensor_cores

CPU = torch.device("cpu")
GPU = torch.device("cuda", 0)


def chosen(mixed_precision: Any, dtype: Any = "float32", device: torch.device = CPU) -> Precision:  # noqa: ANN401 - maybe wrong
    settings = TrainingHyperparameters(mixed_precision=mixed_precision, dtype=dtype)
    return Precision(settings, device)


@pytest.mark.parametrize(
    ("mixed_precision", "dtype"),
    [("off", None), ("auto", None), ("bf16", torch.bfloat16), ("fp16", torch.float16)],
)
def test_on_processors(mixed_precision: str, dtype: torch.dtype | None) -> None:
    precision = chosen(mixed_precision)
    assert precision.dtype == dtype
    with precision.autocast():
        computed = nn.Linear(3, 2)(torch.ones(1, 3)).dtype
    assert computed == (dtype or torch.float32)
    assert precision.scaler.is_enabled() is (mixed_precision == "fp16")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_auto_on_gpus(monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype) -> None:
    has_bf16 = dtype == torch.bfloat16
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **_: has_bf16)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: "Tesla T4")
    monkeypatch.setattr(torch.amp, "GradScaler", lambda device, *, enabled: (device, enabled))
    precision = chosen("auto", device=GPU)
    assert precision.dtype == dtype
    scaler: Any = precision.scaler
    assert scaler == ("cuda", not has_bf16)
    if not has_bf16:
        with pytest.raises(ContractError, match="bf16, which Tesla T4 does not have"):
            chosen("bf16", device=GPU)


@pytest.mark.parametrize("mixed_precision", ["bf16", "fp16", "auto"])
def test_digit_by_digit_and_few_digits_exclude_each_other(mixed_precision: str) -> None:
    with pytest.raises(ContractError, match=f"mixed_precision is {mixed_precision} and dtype is"):
        chosen(mixed_precision, "float64")


@pytest.mark.parametrize("mixed_precision", ["off", "fp16"])
def test_a_factor_of_the_loss_is_one_of_the_gradients(mixed_precision: str) -> None:
    precision = chosen(mixed_precision)
    gradients = []
    for factor in (1.0, 1 / 3):
        model = nn.Linear(2, 1, bias=False)
        precision.backward(model(torch.tensor([[3.0, 4.0]])).sum(), factor)
        assert model.weight.grad is not None
        gradients.append(model.weight.grad / precision.scaler.get_scale())
    assert torch.equal(gradients[0], torch.tensor([[3.0, 4.0]]))
    assert torch.allclose(gradients[1], gradients[0] / 3)


@pytest.mark.parametrize("mixed_precision", ["off", "fp16"])
def test_gradients_are_clipped_as_they_are_not_as_they_are_scaled(mixed_precision: str) -> None:
    precision = chosen(mixed_precision)
    model = nn.Linear(2, 1, bias=False)
    before = model.weight.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    precision.backward(model(torch.tensor([[30.0, 40.0]])).sum())
    precision.update(model, optimizer, max_grad_norm=5.0)
    assert (before - model.weight).tolist()[0] == pytest.approx([3.0, 4.0], rel=1e-4)


def test_a_gradient_that_is_too_large_for_fp16_changes_nothing() -> None:
    precision = chosen("fp16")
    model = nn.Linear(1, 1, bias=False)
    before = model.weight.detach().clone()
    scale = precision.scaler.get_scale()
    precision.backward(model(torch.tensor([[1e38]])).sum())
    precision.update(model, torch.optim.SGD(model.parameters(), lr=1.0), max_grad_norm=0.0)
    assert torch.equal(before, model.weight)
    assert precision.scaler.get_scale() < scale


def test_tensor_cores_do_as_they_are_told() -> None:
    for tf32 in (True, False):
        use_tensor_cores(TrainingHyperparameters(tf32=tf32))
        assert torch.backends.cuda.matmul.allow_tf32 is tf32
        assert torch.backends.cudnn.allow_tf32 is tf32
