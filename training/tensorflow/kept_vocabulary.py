"""The vocabulary in a checkpoint: a training that goes on need not count words again."""

from pathlib import Path
from typing import Final

from training.checkpoints import CheckpointError, Found, check_identity
from training.contract.hyperparameters import TrainingHyperparameters
from training.contract.layout import TENSORFLOW
from training.tensorflow.vocabulary import Vocabulary

VOCABULARY: Final = "vocabulary"
"""Its entry in a checkpoint's identity: the digest."""
_FILE: Final = "vocabulary.txt"


def write_kept(folder: Path, vocabulary: Vocabulary) -> Path:
    """Write a vocabulary into a checkpoint's folder, a word per line; return the file.

    Raises:
        OSError: it cannot be written.
    """
    path = folder / _FILE
    # Words hold no line ends: they are what lies between blanks. Other bytes may be in them.
    path.write_bytes(b"".join(word.encode() + b"\n" for word in vocabulary.words))
    return path


def read_kept(found: Found, settings: TrainingHyperparameters) -> Vocabulary | None:
    """Read the vocabulary of the checkpoint that a training goes on with.

    Args:
        found: the checkpoint, the same on all ranks.
        settings: of this training. No model can be made of others' words: vocabulary_size may be
            too small for them.

    Returns:
        None where it has none: there is no checkpoint, or it is of an earlier release.

    Raises:
        CheckpointError: it is another training's, or not the one that the weights were trained
            with.
    """
    index, folder = found.index, found.folder
    if index is None:
        return None
    itself = index.identity.get(VOCABULARY)
    identity = {**settings.course, VOCABULARY: itself}
    check_identity(index, framework=TENSORFLOW, identity=identity, where=str(found.root))
    if _FILE not in {file.name for file in index.files}:
        return None
    lines = (folder / _FILE).read_bytes().split(b"\n")[:-1]
    vocabulary = Vocabulary(words=tuple(line.decode() for line in lines))
    if vocabulary.digest != itself:
        raise CheckpointError(
            f"{folder / _FILE} is not the vocabulary that the checkpoint of step {index.step} was "
            "trained with. Remove the folder to go on from the checkpoint before it."
        )
    return vocabulary
