"""What the chief writes and every rank takes over."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from training.contract.hyperparameters import TrainingHyperparameters
from training.tensorflow.checkpoint import LearnerTensors
from training.tensorflow.learner import Learner
from training.tensorflow.task import TextTask
from training.tensorflow.vocabulary import Vocabulary
from training.trainer.precision import Numbers


class Chief:
    """The only rank."""

    is_chief = True


def learner(seed: int, numbers: Numbers) -> Learner:
    settings = TrainingHyperparameters(
        vocabulary_size=6, embedding_dim=4, hidden_dim=3, seed=seed, mixed_precision=numbers
    )
    ranks: Any = Chief()
    return Learner(
        TextTask(settings, Vocabulary(("free", "money"))), ranks, settings, total_updates=9
    )


@pytest.mark.parametrize(("before", "now"), [("off", "off"), ("off", "fp16"), ("fp16", "off")])
def test_weights_and_optimizer_come_back_also_on_a_gpu_of_another_kind(
    tmp_path: Path, before: Numbers, now: Numbers
) -> None:
    kept, fresh = learner(1, before), learner(2, now)
    files = LearnerTensors(kept).write(tmp_path)
    assert {path.name for path in files} == {"rank-00000.npz", "vocabulary.txt"}
    both = min(len(kept.variables), len(fresh.variables))
    assert any(
        not np.array_equal(ours, theirs)
        for ours, theirs in zip(kept.variables[:both], fresh.variables[:both], strict=True)
    )
    LearnerTensors(fresh).read(tmp_path, 1)
    for ours, theirs in zip(fresh.variables[:both], kept.variables[:both], strict=True):
        assert np.array_equal(ours, theirs)
    scale = {float(variable) for variable in fresh.variables[both:]}
    assert scale == ({2.0**16, 0.0} if now == "fp16" else set())
