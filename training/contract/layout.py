"""Names that the pipeline definition and the containers must agree on, each written once."""

from pathlib import PurePosixPath
from typing import Final

PYTORCH: Final = "pytorch"
TENSORFLOW: Final = "tensorflow"
FRAMEWORKS: Final = (PYTORCH, TENSORFLOW)

DEFAULT_BASE_DIR: Final = "/opt/ml"
CODE_DIR: Final = "/opt/evenshard"
"""Where the images keep the `training` package: files below /opt/ml may be hidden."""

# Channels of the training job
TRAIN_CHANNEL: Final = "train"
VALIDATION_CHANNEL: Final = "validation"
VOCABULARY_CHANNEL: Final = "vocabulary"
"""Where a job has it, the TensorFlow trainer counts no words of its own."""

# Inputs and outputs of the evaluation job
MODEL_INPUT: Final = "model"
TEST_INPUT: Final = "test"
EVALUATION_OUTPUT: Final = "evaluation"

# Files
MODEL_ARCHIVE: Final = "model.tar.gz"
"""What SageMaker packs the model folders of all hosts into."""
MODEL_CONFIG_FILE: Final = "config.json"
MODEL_WEIGHTS_FILE: Final = "model.safetensors"
KERAS_MODEL_FILE: Final = "model.keras"
SAVED_MODEL_FOLDER: Final = "1"
"""The name that TensorFlow Serving looks for: a version."""
EVALUATION_FILE: Final = "evaluation.json"
DATA_REPORT_FILE: Final = "data.json"
"""Below output/data/<host>/: how many records this host trained on."""

EVALUATION_METRICS: Final = "binary_classification_metrics"
"""Model Registry's name for the metrics of a two-class model."""
MULTICLASS_METRICS: Final = "multiclass_classification_metrics"
"""The same for a model of several classes."""
REGRESSION_METRICS: Final = "regression_metrics"
"""The same for a model that predicts a number."""
ACCURACY_PATH: Final = f"{EVALUATION_METRICS}.accuracy.value"
"""JSON path of the gate's number in the evaluation file of the task `text`."""
QUALITY: Final = "quality"
"""Every evaluation file has this entry: the task's one number, 1 at best."""
QUALITY_PATH: Final = f"{QUALITY}.value"
"""JSON path of the one number of any task: accuracy, or R² of a regression."""

# Environment
BASE_DIR_VARIABLE: Final = "SAGEMAKER_BASE_DIR"
DATA_DIGEST_VARIABLE: Final = "EVENSHARD_DATA_DIGEST"
PEERS_VARIABLE: Final = "EVENSHARD_PEERS"
"""A JSON object host -> ["address:port" of each of its ranks] that replaces DNS and fixed ports.
Simulated hosts."""
DEVICES_PER_HOST_VARIABLE: Final = "EVENSHARD_DEVICES_PER_HOST"
GPU_COUNT_VARIABLE: Final = "SM_NUM_GPUS"
"""How many GPUs the launcher has counted, as SageMaker's training toolkit calls it."""
BREAKPOINTS_VARIABLE: Final = "EVENSHARD_BREAKPOINTS"
"""A JSON object: the moments at which the simulator makes a fault happen. See `breakpoints`."""
STOPPED_FILE_VARIABLE: Final = "EVENSHARD_STOPPED_FILE"
"""Names the file in which the ranks of a host tell its launcher that they ended because of a stop.
See `stops`."""
TOLD_FILE_VARIABLE: Final = "EVENSHARD_TOLD_FILE"
"""Names the file that a host's launcher makes before it passes a stop signal on to the ranks."""
ATTENDANCE_VARIABLE: Final = "EVENSHARD_ATTENDANCE"
"""Names the folder in which the ranks of a host mark how far they have come. See `attendance`."""
BULLETIN_VARIABLE: Final = "EVENSHARD_BULLETIN"
"""The "address:port" at which the chief's launcher keeps the board of a job. Simulated hosts."""

MASTER_PORT: Final = 7777
"""Where the chief's rendezvous store listens when no peers are given."""
BULLETIN_PORT: Final = 7778
"""Where the chief's launcher keeps the board of a job when no peers are given."""
WORKER_PORT: Final = 8890
"""Where TensorFlow's local rank 0 listens when no peers are given; the others at the next ones."""
MESSAGE_LIMIT: Final = 1024
"""Characters of the failure file, and bytes of the message file, that SageMaker reads."""

ENTRYPOINT_WRAPPER: Final = "/usr/local/bin/entrypoint.sh"
"""Of the base images; it ends in `exec "$@"`."""
LAUNCH_MODULE: Final = "training.launch"
EVALUATE_MODULE: Final = "training.steps.evaluate"


def processing_input_path(name: str) -> str:
    """The LocalPath of a processing input, as the pipeline definition writes it."""
    return str(PurePosixPath(DEFAULT_BASE_DIR, "processing", "input", name))


def processing_output_path(name: str) -> str:
    """The LocalPath of a processing output, as the pipeline definition writes it."""
    return str(PurePosixPath(DEFAULT_BASE_DIR, "processing", "output", name))


def training_entrypoint(framework: str) -> list[str]:
    """The ContainerEntrypoint of a training job."""
    return _entrypoint(LAUNCH_MODULE, framework)


def evaluation_entrypoint(framework: str) -> list[str]:
    """The ContainerEntrypoint of an evaluation job."""
    return _entrypoint(EVALUATE_MODULE, framework)


def _entrypoint(module: str, framework: str) -> list[str]:
    if framework not in FRAMEWORKS:
        allowed = ", ".join(FRAMEWORKS)
        raise ValueError(f"no framework called {framework!r}. Allowed: {allowed}.")
    return [ENTRYPOINT_WRAPPER, "python3", "-m", module, framework]
