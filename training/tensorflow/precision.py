"""In which numbers a model computes, while its weights stay in those of `dtype`.

Matrix products take fewer bits, as with torch's autocast; sums and losses do not.
"""

from collections.abc import Sequence
from typing import Any, Final

import tensorflow as tf

from training.contract.hyperparameters import TrainingHyperparameters
from training.trainer.precision import Device, choose_numbers

_POLICIES: Final = {"bf16": "mixed_bfloat16", "fp16": "mixed_float16"}
_BF16_CAPABILITY: Final = (8, 0)
"""Of the first NVIDIA GPUs that have it."""
_FIRST_SCALE: Final = 2.0**16
_STEPS_TO_GROW: Final = 2000
"""Updates without too large a gradient after which the scale doubles."""


def product_policy(settings: TrainingHyperparameters) -> str:
    """Keras' name of what layers with matrix products compute in.

    Raises:
        ContractError: this device has no such numbers, or they are less than `dtype` asks for.
    """
    return _POLICIES.get(choose_numbers(settings, _this_device()), settings.dtype)


def use_tensor_cores(settings: TrainingHyperparameters) -> None:
    """Let GPUs multiply float32 matrices as TF32, which keeps 10 of 23 bits, if allowed."""
    tf.config.experimental.enable_tensor_float_32_execution(settings.tf32)


def _this_device() -> Device:
    gpus = tf.config.list_physical_devices("GPU")
    if not gpus:
        return Device(name="this processor", is_gpu=False, has_bf16=True)
    details = tf.config.experimental.get_device_details(gpus[0])
    return Device(
        name=details.get("device_name", "this GPU"),
        is_gpu=True,
        has_bf16=details.get("compute_capability", (0, 0)) >= _BF16_CAPABILITY,
    )


class LossScale:
    """Keeps small gradients of fp16 from vanishing, and leaves out updates that are too large.

    As torch's GradScaler: the scale doubles after 2000 updates and is halved where a gradient is
    not finite. It is the same on all ranks, since they look at the sum of their gradients.
    """

    def __init__(self) -> None:
        self._scale = tf.Variable(_FIRST_SCALE, dtype=tf.float32, trainable=False)
        self._good_updates = tf.Variable(0, dtype=tf.int64, trainable=False)

    @property
    def variables(self) -> list[Any]:
        """What a checkpoint keeps."""
        return [self._scale, self._good_updates]

    @property
    def factor(self) -> Any:  # noqa: ANN401 - TensorFlow has no types
        """What losses are multiplied with; in a graph."""
        return self._scale.read_value()

    def unscaled(self, gradients: Sequence[Any]) -> list[Any]:
        """The gradients of the losses as they are; in a graph."""
        return [gradient / tf.cast(self.factor, gradient.dtype) for gradient in gradients]

    def take_note(self, is_finite: Any) -> Any:  # noqa: ANN401 - TensorFlow has no types
        """Adapt the scale to an update that was done, or left out; in a graph."""
        good = tf.where(is_finite, self._good_updates + 1, 0)
        grows = good >= _STEPS_TO_GROW
        factor = tf.where(is_finite, tf.where(grows, 2.0, 1.0), 0.5)
        scale = self._scale * factor
        # Beyond float32 no halving would bring it back.
        self._scale.assign(tf.where(tf.math.is_finite(scale), scale, self._scale))
        self._good_updates.assign(tf.where(grows, tf.zeros_like(good), good))


def all_finite(gradients: Sequence[Any]) -> Any:  # noqa: ANN401 - TensorFlow has no types
    """Whether all numbers of all gradients are; in a graph."""
    return tf.reduce_all([tf.reduce_all(tf.math.is_finite(gradient)) for gradient in gradients])
