"""The vocabulary of a training that goes on is the checkpoint's: nothing is counted again."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from training.checkpoints import CheckpointError, CheckpointIndex, Found, WrittenFile
from training.checkpoints.index import step_folder
from training.contract.hyperparameters import TrainingHyperparameters
from training.contract.paths import ContainerPaths
from training.tensorflow.kept_vocabulary import VOCABULARY, read_kept, write_kept
from training.tensorflow.one_vocabulary import one_vocabulary
from training.tensorflow.vocabulary import Vocabulary

SETTINGS = TrainingHyperparameters()
WORDS = Vocabulary(words=("free", "free money", "grüße", "a\x1cb"))


def found(root: Path, vocabulary: Vocabulary | None, *, digest: int = WORDS.digest) -> Found:
    """A checkpoint of step 7."""
    folder = step_folder(root, 7)
    folder.mkdir()
    files = [] if vocabulary is None else [WrittenFile.of(write_kept(folder, vocabulary))]
    index = CheckpointIndex(
        step=7,
        framework="tensorflow",
        identity={**SETTINGS.course, VOCABULARY: digest},
        progress={},
        ranks=[],
        files=files,
    )
    return Found(root=root, index=index)


class Alone:
    """The only rank."""

    is_chief = True
    rank = local_rank = 0
    world_size = local_world_size = 1

    def all_gather(self, numbers: Sequence[int]) -> list[list[int]]:
        return [list(numbers)]


def test_what_was_kept_comes_back(tmp_path: Path) -> None:
    assert read_kept(found(tmp_path, WORDS), SETTINGS) == WORDS


def test_without_one_it_has_to_be_counted(tmp_path: Path) -> None:
    assert read_kept(Found(root=tmp_path, index=None), SETTINGS) is None
    assert read_kept(found(tmp_path, None), SETTINGS) is None


def test_another_one_than_the_weights_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="is not the vocabulary that the checkpoint"):
        read_kept(found(tmp_path, replace(WORDS, words=WORDS.words[:2])), SETTINGS)


def test_a_training_that_goes_on_reads_no_records_for_it(tmp_path: Path) -> None:
    # There is no channel to count: to try would fail.
    paths = ContainerPaths(tmp_path / "nothing")
    ranks: Any = Alone()
    assert one_vocabulary(paths, SETTINGS, ranks, found(tmp_path, WORDS)) == WORDS


def test_a_checkpoint_of_other_hyperparameters_is_refused_with_both_values(tmp_path: Path) -> None:
    # Keras would only say that so many words do not fit.
    smaller = replace(SETTINGS, vocabulary_size=4)
    ranks: Any = Alone()
    with pytest.raises(CheckpointError, match="vocabulary_size was 20000 and is 4"):
        one_vocabulary(ContainerPaths(tmp_path / "nothing"), smaller, ranks, found(tmp_path, WORDS))
