"""Typed settings of one environment, read from config/<env>.toml and checked here, once."""

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from infra.agreement import disagreements
from infra.network.settings import Network
from infra.operations.settings import BudgetSettings, NotificationSettings, TriggerSettings
from infra.pipeline.capacity import Capacity, has_local_nvme
from infra.section import LogDays, TagKey, TagValue
from infra.section import Section as _Section
from infra.target import TargetSettings
from training.contract.hyperparameters import (
    PROGRAM,
    HyperparameterError,
    Range,
    TrainingHyperparameters,
    bounds_of,
    check_used,
    decode,
    parse,
)
from training.contract.layout import FRAMEWORKS, PYTORCH, TENSORFLOW
from training.shards.request import HYPERPARAMETERS, QUALITY_THRESHOLD

REPOSITORY_ROOT = Path(__file__).resolve().parent.parent
EXAMPLES_FOLDER = "examples"
"""Holds a folder per framework, which its image holds too."""
CONFIG_DIR = REPOSITORY_ROOT / "config"

Days = Annotated[int, Field(ge=1, le=3650)]
InstanceType = Annotated[str, Field(pattern=r"^ml\.[a-z0-9-]+\.[a-z0-9-]+$")]
VolumeGigabytes = Annotated[int, Field(ge=1, le=16_384)]
MaxRuntimeSeconds = Annotated[int, Field(ge=60, le=2_419_200)]
"""Up to SageMaker's 28 days."""
Framework = Literal["pytorch", "tensorflow"]
HyperparameterName = Annotated[str, Field(min_length=1, max_length=256)]
HyperparameterValue = Annotated[str, Field(max_length=256)]
"""The developer guide's quota; the service model allows 2,500 characters."""

MOST_HYPERPARAMETERS = 100
"""Of a training job. Source: docs/facts.md 4."""


class SettingsError(ValueError):
    """The settings cannot be used; the message names file, key and what is allowed."""


def _within(bounds: Range) -> Any:  # noqa: ANN401 - pydantic gives constraints no type of their own
    """The same bounds for a setting: the trainers' are the one truth."""
    return Field(gt=bounds.above, ge=bounds.minimum, le=bounds.maximum)


_FINITE = Field(allow_inf_nan=False)


class StorageSettings(_Section):
    """The data bucket, its key and its access logs."""

    retain_data: bool
    """Keep the data bucket and its key when the stack is deleted."""
    old_versions_days: Days
    """Days until an overwritten or deleted object is gone for good, 1..3650."""
    access_logs_days: Days
    """Days that access logs are kept, 1..3650."""


class BuiltImage(_Section):
    """An image that a deployment builds from training/<framework>/Dockerfile."""

    kind: Literal["build"]
    base_image: Annotated[
        str, Field(pattern=r"^[a-z0-9.:/_-]+:[A-Za-z0-9._-]+(@sha256:[0-9a-f]{64})?$")
    ]
    """With its tag, or tag and digest; the build argument BASE_IMAGE."""


class ExistingImage(_Section):
    """An image that exists; nothing is built."""

    kind: Literal["existing"]
    uri: Annotated[
        str,
        Field(
            pattern=r"^\d{12}\.dkr\.ecr\.[a-z0-9-]+\.amazonaws\.com(\.cn)?"
            r"/[a-z0-9._/-]+(:[A-Za-z0-9._-]+|@sha256:[0-9a-f]{64})$"
        ),
    ]
    """In Amazon ECR; it was built from the framework's Dockerfile, or behaves alike."""


Image = Annotated[BuiltImage | ExistingImage, Field(discriminator="kind")]


class FrameworkSettings(_Section):
    """What one framework's pipeline has of its own."""

    image: Image
    """Of training and evaluation."""
    hyperparameters: dict[HyperparameterName, HyperparameterValue] = Field(default_factory=dict)
    """More of them, the same in every execution: the trainer's own, or `program` and a script's."""

    @field_validator("hyperparameters")
    @classmethod
    def _known_to_who_reads_them(cls, given: dict[str, str]) -> dict[str, str]:
        taken = [name for name in given if name in HYPERPARAMETERS]
        if taken:
            raise ValueError(
                f"{', '.join(taken)}: set by {', '.join(HYPERPARAMETERS.values())}, which are "
                "pipeline parameters. Give defaults in [training], other values at the start."
            )
        if len(given) + len(HYPERPARAMETERS) > MOST_HYPERPARAMETERS:
            raise ValueError(
                f"{len(given)} of them. Allowed: {MOST_HYPERPARAMETERS - len(HYPERPARAMETERS)}, "
                f"since a job has at most {MOST_HYPERPARAMETERS} and {len(HYPERPARAMETERS)} are "
                "pipeline parameters. Put the others into a file beside the script."
            )
        if PROGRAM not in given:
            try:
                parse(TrainingHyperparameters, {key: decode(text) for key, text in given.items()})
            except HyperparameterError as error:
                raise ValueError(str(error)) from error
        return given


class PreflightSettings(_Section):
    """The function that looks at the data first."""

    log_days: LogDays
    """Days that its log is kept."""


class _Instances(_Section):
    instance_types: Annotated[tuple[InstanceType, ...], Field(min_length=1, strict=False)]
    """What a starter of the pipeline may choose from."""
    instance_type: InstanceType
    """The default; one of `instance_types`."""
    volume_gb: VolumeGigabytes
    """Size of each host's volume, 1..16384. Instances with their own NVMe disks ignore it."""
    max_runtime_s: MaxRuntimeSeconds
    """Seconds after which SageMaker stops the job, 60..2419200."""

    @model_validator(mode="after")
    def _default_is_offered(self) -> Self:
        if self.instance_type not in self.instance_types:
            raise ValueError(
                f"instance_type is {self.instance_type!r}, which instance_types does not list. "
                f"Allowed: {', '.join(self.instance_types)}."
            )
        return self


class TrainingSettings(_Instances):
    """The training job, and the defaults of its pipeline parameters."""

    instance_count: Annotated[int, Field(ge=1, le=64)]
    """Training hosts, 1..64; never more than there are shards."""
    capacity: Capacity
    """How the instances are bought."""
    epochs: Annotated[int, _within(bounds_of("epochs"))]
    """Times that every record is trained on."""
    batch_size: Annotated[int, _within(bounds_of("batch_size"))]
    """Records of one rank and one step."""
    learning_rate: Annotated[float, _within(bounds_of("learning_rate")), _FINITE]
    """The optimizer's."""
    seed: Annotated[int, _within(bounds_of("seed"))]
    """Of weights and shuffling."""

    @model_validator(mode="after")
    def _one_kind_of_disk(self) -> Self:
        # VolumeKmsKeyId is legal on one side of this line only, and cannot depend on a parameter.
        if len({has_local_nvme(name) for name in self.instance_types}) > 1:
            nvme = [name for name in self.instance_types if has_local_nvme(name)]
            raise ValueError(
                f"instance_types mixes instances with local NVMe disks ({', '.join(nvme)}) and "
                "without. Allowed: one kind. Move the others to an environment of their own."
            )
        return self


class EvaluationSettings(_Instances):
    """The evaluation job: one instance, the training image."""


class GateSettings(_Section):
    """What a model needs to be registered."""

    quality_threshold: Annotated[float, _within(QUALITY_THRESHOLD), _FINITE]
    """Least accuracy, or R² of a regression, on the test set, 0..1."""
    model_approval_status: Literal["PendingManualApproval", "Approved", "Rejected"]
    """Of a newly registered model."""


class Settings(_Section):
    """One environment."""

    prefix: Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$", max_length=32)]
    """Starts the name of everything deployed: lower-case letters, digits and single hyphens."""
    frameworks: Annotated[tuple[Framework, ...], Field(min_length=1, strict=False)]
    """Whose training pipelines are deployed, one or both; each has its table below."""
    pytorch: FrameworkSettings
    tensorflow: FrameworkSettings
    storage: StorageSettings
    preflight: PreflightSettings
    training: TrainingSettings
    evaluation: EvaluationSettings
    gate: GateSettings
    network: Network
    triggers: TriggerSettings
    notifications: NotificationSettings
    budget: BudgetSettings = BudgetSettings()
    tags: dict[TagKey, TagValue] = Field(default_factory=dict)
    """More tags on everything that is deployed and on every job."""
    target: TargetSettings = TargetSettings()

    @model_validator(mode="after")
    def _tables_agree(self) -> Self:
        if problems := list(disagreements(self)):
            raise ValueError(" ".join(problems))
        return self

    def of_framework(self, framework: str) -> FrameworkSettings:
        """What this framework's pipeline has of its own."""
        return {PYTORCH: self.pytorch, TENSORFLOW: self.tensorflow}[framework]

    @field_validator("frameworks")
    @classmethod
    def _named_once(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(given)) < len(given):
            raise ValueError("a framework is named twice. Name each once: it has one pipeline.")
        return given

    @model_validator(mode="after")
    def _hyperparameters_are_used(self) -> Self:
        for framework in self.frameworks:
            own = self.of_framework(framework).hyperparameters
            try:
                check_used(own if PROGRAM not in own else (), framework)
            except HyperparameterError as error:
                raise ValueError(f"{framework}.hyperparameters: {error}") from error
        return self

    @model_validator(mode="after")
    def _programs_are_in_their_images(self) -> Self:
        for framework in self.frameworks:
            own = self.of_framework(framework)
            if PROGRAM in own.hyperparameters and isinstance(own.image, BuiltImage):
                _check_program(framework, own.hyperparameters[PROGRAM])
        return self


def _check_program(framework: str, program: str) -> None:
    code, examples = REPOSITORY_ROOT / "training", REPOSITORY_ROOT / EXAMPLES_FOLDER / framework
    script = (REPOSITORY_ROOT / decode(program)).resolve()
    others = [code / other for other in FRAMEWORKS if other != framework]
    copied = any(map(script.is_relative_to, (code, examples)))
    if not copied or any(map(script.is_relative_to, others)) or not script.is_file():
        raise ValueError(
            f"{framework}.hyperparameters.{PROGRAM} is {program!r}. Allowed: a file below {code} "
            f"or {examples}, relative to {REPOSITORY_ROOT}, since the image holds these only, "
            "without the other framework's. Put the script there, or name an existing image."
        )


def load_settings(environment: str, config_dir: Path = CONFIG_DIR) -> Settings:
    """Read and check config/<environment>.toml.

    Args:
        environment: the name, `dev` for instance.
        config_dir: the folder of the files.

    Raises:
        SettingsError: naming file and key, what is allowed, what to do.
    """
    path = config_dir / f"{environment}.toml"
    allowed = sorted(found.stem for found in config_dir.glob("*.toml"))
    if environment not in allowed:
        raise SettingsError(
            f"no environment called {environment!r}. Allowed: {', '.join(allowed)}. "
            f"Choose with -c env=NAME or write {path}."
        )
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
        return Settings.model_validate(values)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path} is not TOML: {error}. Correct that line.") from error
    except ValidationError as error:
        raise SettingsError(_explain(path, error)) from error


def _explain(path: Path, error: ValidationError) -> str:
    """Turn pydantic's findings into one line for each key."""
    lines = [f"{path}: {error.error_count()} wrong value(s)."]
    for finding in error.errors(include_url=False):
        key = ".".join(str(part) for part in finding["loc"]) or "(top level)"
        given = "" if isinstance(finding["input"], dict) else f" (given: {finding['input']!r})"
        lines.append(f"  {key}: {finding['msg']}{given}")
    return "\n".join([*lines, "What each key allows is written in infra/settings.py."])
