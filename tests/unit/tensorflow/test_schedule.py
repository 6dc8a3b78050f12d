import tensorflow as tf

from training.contract.hyperparameters import TrainingHyperparameters
from training.tensorflow.schedule import LearningRate
from training.trainer.updates import LearningRateFactor


def test_the_optimizer_gets_the_rate_of_every_update_in_64_bits() -> None:
    settings = TrainingHyperparameters(learning_rate=0.1, schedule="cosine", warmup_steps=2)
    rate = LearningRate(settings, total_updates=7)
    read = tf.function(rate.of_optimizer)
    factor = LearningRateFactor.of(settings, 7)
    for update in (0, 1, 2, 3, 6, 7, 3):  # a training that goes on begins in the middle
        rate.go_to(update)
        told = read(tf.constant(0))
        assert told.dtype == tf.float64
        assert float(told) == 0.1 * factor(update) == rate.of(update)


def test_a_plain_rate_is_exact() -> None:
    rate = LearningRate(TrainingHyperparameters(learning_rate=0.1), total_updates=3)
    rate.go_to(2)
    assert float(rate.of_optimizer(0)) == 0.1
