"""What the launcher knows of the model folder: whether there is anything in it."""

import shutil

from training.contract.paths import ContainerPaths


def has_model(paths: ContainerPaths) -> bool:
    """Whether a file lies anywhere below the model folder."""
    return any(path.is_file() for path in paths.model_dir.rglob("*"))


def clear_model(paths: ContainerPaths) -> None:
    """Empty the model folder: a stopped training leaves no model, not even a whole one.

    The folder itself stays: SageMaker made it.
    """
    for path in paths.model_dir.glob("*"):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
