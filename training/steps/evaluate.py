"""The evaluation step: a trained model against the test set, in Model Registry's form.

    python -m training.steps.evaluate pytorch|tensorflow

Reads /opt/ml/processing/input/model/model.tar.gz and /opt/ml/processing/input/test, writes
/opt/ml/processing/output/evaluation/evaluation.json, and one line to /opt/ml/output/message: the
numbers, or why there are none.
"""

import json
import logging
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path, PurePosixPath

from training.contract.errors import ContractError
from training.contract.failure import write_message
from training.contract.layout import (
    EVALUATION_FILE,
    EVALUATION_OUTPUT,
    FRAMEWORKS,
    MODEL_ARCHIVE,
    MODEL_INPUT,
    TEST_INPUT,
)
from training.contract.paths import ContainerPaths
from training.records import RecordError
from training.steps.quality import Quality

_LOG = logging.getLogger(__name__)


def main(arguments: Sequence[str]) -> int:
    """Evaluate the model of a training job.

    Args:
        arguments: the framework's name.

    Returns:
        0 when the evaluation is written, 1 when the message file says why not.
    """
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    paths = ContainerPaths.from_environment()
    try:
        quality = _evaluate(paths, _framework(arguments))
        _write_evaluation(paths, quality)
    except (ContractError, RecordError) as error:
        message, exit_code = f"Evaluation failed: {error}", 1
    except Exception as error:
        write_message(paths, f"Evaluation failed: {type(error).__name__}: {error}")
        raise
    else:
        message, exit_code = quality.summary(), 0
    write_message(paths, message)
    _LOG.info("%s", message)
    return exit_code


def _framework(arguments: Sequence[str]) -> str:
    if len(arguments) != 1 or arguments[0] not in FRAMEWORKS:
        raise ContractError(
            f"training.steps.evaluate got the arguments {list(arguments)}. Allowed: one of "
            f"{', '.join(FRAMEWORKS)}. Change the last words of ContainerEntrypoint."
        )
    return arguments[0]


def _evaluate(paths: ContainerPaths, framework: str) -> Quality:
    # Imported here: a framework takes seconds, a wrong argument should not, and an image has one.
    count_predictions = import_module(f"training.{framework}.evaluation").count_predictions
    with tempfile.TemporaryDirectory(prefix="evenshard-") as folder:
        _unpack(paths.processing_input(MODEL_INPUT) / MODEL_ARCHIVE, Path(folder))
        quality: Quality = count_predictions(Path(folder), paths.processing_input(TEST_INPUT))
        return quality


def _unpack(archive: Path, folder: Path) -> None:
    """Unpack a model archive.

    Raises:
        ContractError: it is missing, unreadable, or reaches outside the folder.
    """
    try:
        with tarfile.open(archive) as tar:
            for member in tar:
                _unpack_member(tar, member, folder)
    except FileNotFoundError:
        raise ContractError(
            f"{archive} does not exist. Give the processing input {MODEL_INPUT!r} the S3Uri of the "
            "training job's S3ModelArtifacts."
        ) from None
    except (tarfile.TarError, EOFError, OSError) as error:
        raise ContractError(
            f"{archive} is not a model archive ({type(error).__name__}: {error}). Give a gzipped "
            "tar file as a training job writes it."
        ) from None


def _unpack_member(tar: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    """Unpack a folder or a file; tarfile's own filters are younger than Python 3.11.

    Raises:
        TarError: it is a link or a device, or its name leads outside.
    """
    name = PurePosixPath(member.name)
    if name.is_absolute() or ".." in name.parts or not (member.isfile() or member.isdir()):
        raise tarfile.TarError(f"{member.name!r} is no file or folder below the model folder")
    target = folder / name
    if member.isdir():
        target.mkdir(parents=True, exist_ok=True)
    elif (content := tar.extractfile(member)) is not None:
        target.parent.mkdir(parents=True, exist_ok=True)
        with content, target.open("wb") as file:
            shutil.copyfileobj(content, file)


def _write_evaluation(paths: ContainerPaths, quality: Quality) -> None:
    file = paths.processing_output(EVALUATION_OUTPUT) / EVALUATION_FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(quality.evaluation(), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
