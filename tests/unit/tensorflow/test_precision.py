from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from training.contract.errors import ContractError
from training.contract.hyperparameters import TrainingHyperparameters
from training.tensorflow.learner import Learner
from training.tensorflow.precision import LossScale, product_policy, use_tensor_cores
from training.tensorflow.task import TextTask
from training.tensorflow.vocabulary import Vocabulary

SMALL: Mapping[str, Any] = {"vocabulary_size": 6, "embedding_dim": 4, "hidden_dim": 3}


class Alone:
    """The only rank."""

    def sum_tensors(self, tensors: Sequence[Any]) -> list[Any]:
        return list(tensors)


def learner(**values: object) -> Learner:
    settings = TrainingHyperparameters(**{**SMALL, **values})
    task = TextTask(settings, Vocabulary(("free", "money")))
    alone: Any = Alone()
    return Learner(task, alone, settings, total_updates=10)


def weights(of: Learner) -> list[Any]:
    return [variable.numpy() for variable in of.model.weights]


BATCH = (np.array([[2, 3], [1, 0]]), np.array([1, 0], np.float32), 1.0)


@pytest.mark.parametrize(
    ("chosen", "policy"),
    [
        ("off", "float32"),
        ("auto", "float32"),
        ("bf16", "mixed_bfloat16"),
        ("fp16", "mixed_float16"),
    ],
)
def test_on_processors(chosen: Any, policy: str) -> None:  # noqa: ANN401 - of the allowed ones
    assert product_policy(TrainingHyperparameters(mixed_precision=chosen)) == policy
    model = learner(mixed_precision=chosen).model
    assert {variable.dtype for variable in model.weights} == {"float32"}
    assert model(BATCH[0]).dtype == tf.float32


@pytest.mark.parametrize(("capability", "policy"), [((8, 6), "bfloat16"), ((7, 5), "float16")])
def test_auto_on_gpus(
    monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int], policy: str
) -> None:
    details = {"device_name": "Tesla T4", "compute_capability": capability}
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda _kind: ["one"])
    monkeypatch.setattr(tf.config.experimental, "get_device_details", lambda _gpu: details)
    auto = TrainingHyperparameters(mixed_precision="auto")
    assert product_policy(auto) == f"mixed_{policy}"
    if policy == "float16":
        with pytest.raises(ContractError, match="bf16, which Tesla T4 does not have"):
            product_policy(TrainingHyperparameters(mixed_precision="bf16"))


def test_digit_by_digit_and_few_digits_exclude_each_other() -> None:
    with pytest.raises(ContractError, match="mixed_precision is bf16 and dtype is float64"):
        product_policy(TrainingHyperparameters(mixed_precision="bf16", dtype="float64"))


@pytest.mark.parametrize("chosen", ["bf16", "fp16"])
def test_fewer_bits_train_almost_the_same(chosen: str) -> None:
    exact, short = learner(), learner(mixed_precision=chosen)
    for each in (exact, short):
        each.learn(*BATCH, 0.5)
    differences = [
        abs(one - other).max() for one, other in zip(weights(exact), weights(short), strict=True)
    ]
    # AdamW's first step is the sign of the gradient times the learning rate.
    assert max(differences) < 1e-4


def test_a_gradient_that_is_too_large_changes_nothing_but_the_scale() -> None:
    of = learner(mixed_precision="fp16")
    before = weights(of)
    of.learn(*BATCH, 1e38)
    assert all((one == two).all() for one, two in zip(before, weights(of), strict=True))
    scale, good_updates = of.variables[-2:]
    assert (float(scale), int(good_updates)) == (2.0**15, 0)
    of.learn(*BATCH, 0.5)
    assert any((one != two).any() for one, two in zip(before, weights(of), strict=True))
    assert (float(scale), int(good_updates)) == (2.0**15, 1)


def test_the_scale_grows_where_nothing_was_too_large() -> None:
    scale = LossScale()
    for _ in range(2000):
        scale.take_note(tf.constant(value=True))
    assert float(scale.factor) == 2.0**17
    assert int(scale.variables[1]) == 0


def test_the_scale_never_leaves_the_finite_numbers() -> None:
    scale = LossScale()
    scale.variables[0].assign(2.0**127)
    scale.variables[1].assign(1999)
    scale.take_note(tf.constant(value=True))
    assert float(scale.factor) == 2.0**127
    scale.take_note(tf.constant(value=False))
    assert float(scale.factor) == 2.0**126


def test_gradients_are_clipped_as_they_are_not_as_they_are_scaled() -> None:
    exact = learner(max_grad_norm=1e-3)
    short = learner(max_grad_norm=1e-3, mixed_precision="fp16")
    for each in (exact, short):
        each.learn(*BATCH, 0.5)
    # The optimizer's moments hold the gradients.
    pairs = zip(exact.variables[5:], short.variables[5:-2], strict=True)
    for one, other in pairs:
        assert np.allclose(one.numpy(), other.numpy(), rtol=0.02, atol=1e-6)


def test_tensor_cores_do_as_they_are_told() -> None:
    for tf32 in (True, False):
        use_tensor_cores(TrainingHyperparameters(tf32=tf32))
        assert tf.config.experimental.tensor_float_32_execution_enabled() is tf32


def test_batches_before_the_last_one_of_an_update_only_add_up() -> None:
    of, whole = learner(gradient_accumulation_steps=2), learner()
    before = weights(of)
    first, second = ((BATCH[0][n : n + 1], BATCH[1][n : n + 1], 1.0) for n in (0, 1))
    of.prepare(*first, 0.5)
    assert all((one == two).all() for one, two in zip(before, weights(of), strict=True))
    of.learn(*second, 0.5)
    whole.learn(*BATCH, 0.5)
    for one, other in zip(of.variables, whole.variables, strict=True):
        assert np.allclose(one.numpy(), other.numpy(), rtol=1e-4, atol=1e-7)
    of.prepare(*first, 0.5)  # nothing of the last update is left
    of.learn(*second, 0.5)
    whole.learn(*BATCH, 0.5)
    for one, other in zip(of.variables, whole.variables, strict=True):
        assert np.allclose(one.numpy(), other.numpy(), rtol=1e-3, atol=1e-6)
