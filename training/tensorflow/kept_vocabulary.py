"""The vocabulary in a checkpoint: a training that goes on need not count words again."""

from pathlib import Path
from typing import Final

from training.checkpoints import CheckpointError, Found
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


def read_kept(found: Found) -> Vocabulary | None:
    """Read the vocabulary of the checkpoint that a training goes on with.

    Returns:
        None where it has none: there is no checkpoint, or it is another framework's.

    Raises:
        CheckpointError: it is not the one that the weights were trained with.
    """
    index, folder = found.index, found.folder
    if index is None or _FILE not in {file.name for file in index.files}:
        return None
    lines = (folder / _FILE).read_bytes().split(b"\n")[:-1]
    vocabulary = Vocabulary(words=tuple(line.decode() for line in lines))
    if vocabulary.digest != index.identity.get(VOCABULARY):
        raise CheckpointError(
            f"{folder / _FILE} is not the vocabulary that the checkpoint of step {index.step} was "
            "trained with. Remove the folder to go on from the checkpoint before it."
        )
    return vocabulary
