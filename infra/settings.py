"""Typed settings of one environment, read from config/<env>.toml and checked here, once."""

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from infra.agreement import disagreements
from infra.network.settings import Network
from infra.operations.settings import BudgetSettings, NotificationSettings, TriggerSettings
from infra.pipeline.settings import (
    BuiltImage,
    EvaluationSettings,
    ExistingImage,
    FrameworkSettings,
    GateSettings,
    TrainingSettings,
)
from infra.section import LogDays, NamedOnce, TagKey, TagValue
from infra.section import Section as _Section
from infra.target import TargetSettings
from training.contract.hyperparameters import PROGRAM, TASK, check_used
from training.contract.layout import FRAMEWORKS, PYTORCH, TENSORFLOW
from training.contract.parsing import HyperparameterError, decode

REPOSITORY_ROOT = Path(__file__).resolve().parent.parent
EXAMPLES_FOLDER = "examples"
"""Holds a folder per framework, which its image holds too."""
CONFIG_DIR = REPOSITORY_ROOT / "config"
DEFAULT_ENVIRONMENT = "dev"

MOST_TAGS = 48
"""AWS' 50, without the environment's own and the Name of a VPC."""
_NO_BUCKETS = ("sthree", "amzn-s3-demo")

Days = Annotated[int, Field(ge=1, le=3650)]
PolicyName = Annotated[
    str, Field(pattern=r"^([A-Za-z0-9_+=,.@-]+/)*[A-Za-z0-9_+=,.@-]{1,128}$", max_length=512)
]
Framework = Literal["pytorch", "tensorflow"]


class SettingsError(ValueError):
    """The settings cannot be used; the message names file, key and what is allowed."""


class UnknownEnvironmentError(SettingsError):
    """There is no settings file of this name."""


class StorageSettings(_Section):
    """The data bucket, its key and its access logs."""

    retain_data: bool
    """Keep the data bucket and its key when the stack is deleted."""
    old_versions_days: Days
    """Days until an overwritten or deleted object is gone for good, 1..3650."""
    checkpoints_days: Days
    """Days until a checkpoint is gone that its training has not replaced or deleted, 1..3650."""
    access_logs_days: Days
    """Days that access logs are kept, 1..3650."""


class PreflightSettings(_Section):
    """The function that looks at the data first."""

    log_days: LogDays
    """Days that its log is kept."""


class Settings(_Section):
    """One environment."""

    prefix: Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$", max_length=32)]
    """Starts the name of everything deployed: lower-case letters, digits and single hyphens."""
    frameworks: Annotated[tuple[Framework, ...], Field(min_length=1, strict=False), NamedOnce]
    """Whose training pipelines are deployed, one or both; each has its table below."""
    images_by_digest: bool
    """Existing images must be named by their digest, since a tag may come to mean another image."""
    permissions_boundary: PolicyName | None = None
    """Name of the account's IAM policy that bounds every role, with its path where it has one."""
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
    tags: Annotated[dict[TagKey, TagValue], Field(max_length=MOST_TAGS)] = Field(
        default_factory=dict
    )
    """More tags on everything that is deployed and on every job, at most 48."""
    target: TargetSettings = TargetSettings()

    @model_validator(mode="after")
    def _tables_agree(self) -> Self:
        if problems := list(disagreements(self)):
            raise ValueError(" ".join(problems))
        return self

    def of_framework(self, framework: str) -> FrameworkSettings:
        """What this framework's pipeline has of its own."""
        return {PYTORCH: self.pytorch, TENSORFLOW: self.tensorflow}[framework]

    @field_validator("prefix")
    @classmethod
    def _may_start_a_bucket(cls, given: str) -> str:
        # CloudFormation names the buckets after the stack.
        if given.startswith(_NO_BUCKETS):
            raise ValueError(
                f"{given!r} would start the names of buckets, which must not start with "
                f"{' or '.join(_NO_BUCKETS)}. Choose another one."
            )
        return given

    @field_validator("tags")
    @classmethod
    def _tags_differ(cls, given: dict[str, str]) -> dict[str, str]:
        for key in given:
            if [other for other in given if other != key and other.lower() == key.lower()]:
                raise ValueError(
                    f"{key!r} is there twice but for its case, which counts for nothing in tags of "
                    "roles. Keep one."
                )
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
    def _images_cannot_change(self) -> Self:
        for framework in self.frameworks:
            image = self.of_framework(framework).image
            if self.images_by_digest and isinstance(image, ExistingImage) and not image.digest:
                raise ValueError(
                    f"{framework}.image.uri is {image.uri!r}, but images_by_digest asks for "
                    "a digest. Allowed: <repository>@sha256:<64 digits>; `aws ecr describe-images` "
                    "shows the digest of a tag."
                )
        return self

    @model_validator(mode="after")
    def _code_of_ones_own_is_in_its_image(self) -> Self:
        for framework in self.frameworks:
            own = self.of_framework(framework)
            if not isinstance(own.image, BuiltImage):
                continue
            if PROGRAM in own.hyperparameters:
                _check_program(framework, own.hyperparameters[PROGRAM])
            elif TASK in own.hyperparameters:
                _check_task(framework, own.hyperparameters[TASK])
        return self


def _check_program(framework: str, program: str) -> None:
    file = REPOSITORY_ROOT / decode(program)
    if file.suffix != ".py" or not _is_copied(framework, file):
        code, examples = _copied(framework)
        raise ValueError(
            f"{framework}.hyperparameters.{PROGRAM} is {program!r}. Allowed: a .py file below "
            f"{code} or {examples}, relative to {REPOSITORY_ROOT}, since the image holds these "
            "only, without the other framework's. Put the script there, or name an existing image."
        )


def _check_task(framework: str, task: str) -> None:
    """Refuse a class of the user's whose module the image lacks; the built-in ones are there."""
    module, colon, _ = decode(task).partition(":")
    if not colon:
        return
    path = REPOSITORY_ROOT.joinpath(*module.split("."))
    if not any(
        _is_copied(framework, file) for file in (path.with_suffix(".py"), path / "__init__.py")
    ):
        code, examples = _copied(framework)
        raise ValueError(
            f"{framework}.hyperparameters.{TASK} is {task!r}, but {path.with_suffix('.py')} is no "
            f"file that the image holds. Allowed: a module below {code} or {examples}, without the "
            "other framework's. Put the file there (training/mine.py is training.mine:Class), or "
            "name an existing image."
        )


def _copied(framework: str) -> tuple[Path, Path]:
    """The folders that a framework's image holds, apart from what `_is_copied` takes out."""
    return REPOSITORY_ROOT / "training", REPOSITORY_ROOT / EXAMPLES_FOLDER / framework


def _is_copied(framework: str, path: Path) -> bool:
    file, (code, examples) = path.resolve(), _copied(framework)
    left_out = [code / other for other in FRAMEWORKS if other != framework] + [code / "shards"]
    copied = any(map(file.is_relative_to, (code, examples)))
    return copied and not any(map(file.is_relative_to, left_out)) and file.is_file()


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
        raise UnknownEnvironmentError(
            f"no environment called {environment!r}. Allowed: {', '.join(allowed)}. "
            f"Choose with -c env=NAME or write {path}."
        )
    try:
        return Settings.model_validate(_parsed(path))
    except ValidationError as error:
        raise SettingsError(_explain(path, error)) from error


def _parsed(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise SettingsError(
            f"{path} is not UTF-8: byte {error.start} is {error.object[error.start]:#04x}. TOML "
            "is UTF-8: save it as that."
        ) from error
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}. See to it.") from error
    # Python's own limits on digits and depth are no errors of TOML.
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{path} is not TOML: {error}. Correct that line.") from error


def _explain(path: Path, error: ValidationError) -> str:
    """Turn pydantic's findings into one line for each key."""
    lines = [f"{path}: {error.error_count()} wrong value(s)."]
    for finding in error.errors(include_url=False):
        key = ".".join(str(part) for part in finding["loc"]) or "(top level)"
        given = "" if isinstance(finding["input"], dict) else f" (given: {finding['input']!r})"
        lines.append(f"  {key}: {finding['msg']}{given}")
    return "\n".join(
        [*lines, "`evenshard settings --explain` and infra/settings.py say what keys mean."]
    )
