"""The weights and the optimizer of a model that is spread over the ranks, as files of shards."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save

from training.pytorch.loop import Learner
from training.pytorch.ranks import Ranks

_METADATA: Final = ".metadata"
"""What torch calls the file that says which shards lie where; rank 0 writes it."""


def write_shards(learner: Learner, ranks: Ranks, folder: Path) -> Sequence[Path]:
    """Write this rank's shards; all ranks must call it, with folders of the same content.

    Returns:
        The files that this rank wrote.

    Raises:
        OSError: a rank could not write.
    """
    # A job that was lost while it saved this step, and came to it again, has left some: they would
    # not be known from those of now.
    for left in _own_files(folder, ranks):
        with suppress(OSError):  # all ranks fail below, or none
            left.unlink()
    model, optimizer = get_state_dict(learner.model, learner.optimizer)
    try:
        save(
            {"model": model, "optimizer": optimizer},
            storage_writer=FileSystemWriter(folder, single_file_per_rank=True, overwrite=True),
        )
    except CheckpointException as error:
        raise OSError(f"the shards of the model were not written: {error}") from error
    return _own_files(folder, ranks)


def _own_files(folder: Path, ranks: Ranks) -> list[Path]:
    """The files that this rank writes, as far as they are there."""
    mine = f"__{ranks.rank}_"
    return [
        path
        for path in sorted(folder.iterdir())
        if path.name.startswith(mine) or (ranks.is_chief and path.name == _METADATA)
    ]


def read_shards(learner: Learner, folder: Path) -> None:
    """Take over weights and optimizer, each rank its shards of now; all ranks must call it."""
    model, optimizer = get_state_dict(learner.model, learner.optimizer)
    content: dict[str, Any] = {"model": model, "optimizer": optimizer}
    load(content, storage_reader=FileSystemReader(folder))
    set_state_dict(
        learner.model,
        learner.optimizer,
        model_state_dict=content["model"],
        optim_state_dict=content["optimizer"],
    )
