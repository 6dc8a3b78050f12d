"""Where a container finds its inputs and leaves its results. Source: docs/facts.md 4."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from training.contract.layout import BASE_DIR_VARIABLE, DEFAULT_BASE_DIR


@dataclass(frozen=True, slots=True)
class ContainerPaths:
    """The folders and files that SageMaker gives a training or processing container."""

    base_dir: Path
    """`/opt/ml` on SageMaker; moved by SAGEMAKER_BASE_DIR on a laptop."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> "ContainerPaths":
        """Read the base folder from the environment.

        Args:
            environment: the variables to read; this process's own when None.
        """
        variables = os.environ if environment is None else environment
        return cls(Path(variables.get(BASE_DIR_VARIABLE) or DEFAULT_BASE_DIR))

    @property
    def input_dir(self) -> Path:
        """Configuration and channels of a training job."""
        return self.base_dir / "input"

    @property
    def hyperparameters_file(self) -> Path:
        """A JSON object of strings."""
        return self.input_dir / "config" / "hyperparameters.json"

    @property
    def resource_config_file(self) -> Path:
        """The hosts of a training job."""
        return self.input_dir / "config" / "resourceconfig.json"

    @property
    def input_data_config_file(self) -> Path:
        """The channels of a training job."""
        return self.input_dir / "config" / "inputdataconfig.json"

    def channel(self, name: str) -> Path:
        """The folder of one channel: this host's objects, keys below the prefix kept as paths."""
        return self.input_dir / "data" / name

    @property
    def model_dir(self) -> Path:
        """What ends up in model.tar.gz, merged over all hosts."""
        return self.base_dir / "model"

    @property
    def checkpoint_dir(self) -> Path:
        """What SageMaker keeps in S3 from start to start; exists only where a job asks for that."""
        return self.base_dir / "checkpoints"

    @property
    def output_dir(self) -> Path:
        """The folder of the failure and message files."""
        return self.base_dir / "output"

    @property
    def output_data_dir(self) -> Path:
        """What ends up in output.tar.gz, merged over all hosts."""
        return self.output_dir / "data"

    @property
    def failure_file(self) -> Path:
        """Why a training job failed: its first 1,024 characters become FailureReason."""
        return self.output_dir / "failure"

    @property
    def message_file(self) -> Path:
        """What a processing job has to say: its first 1,024 bytes become ExitMessage."""
        return self.output_dir / "message"

    @property
    def tensorboard_dir(self) -> Path:
        """TensorBoard events, which SageMaker copies out while the job runs."""
        return self.output_dir / "tensorboard"

    @property
    def processing_dir(self) -> Path:
        """Inputs and outputs of a processing job."""
        return self.base_dir / "processing"

    def processing_input(self, name: str) -> Path:
        """The folder of one processing input."""
        return self.processing_dir / "input" / name

    def processing_output(self, name: str) -> Path:
        """The folder of one processing output."""
        return self.processing_dir / "output" / name
