"""The tables of a settings file about pipelines: images, jobs, the gate."""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from infra.pipeline.capacity import LONGEST_JOB_S, Capacity, Spot, has_local_nvme
from infra.pipeline.validation.document import PROCESSING, TRAINING
from infra.pipeline.validation.service_model import instance_types
from infra.pipeline.validation.wording import rename_fix
from infra.section import NamedOnce, Section
from training.contract.bounds import Range
from training.contract.hyperparameters import PROGRAM, TrainingHyperparameters, bounds_of
from training.contract.parsing import HyperparameterError, decode, parse
from training.shards.request import HYPERPARAMETERS, QUALITY_THRESHOLD

InstanceType = Annotated[str, Field(pattern=r"^ml\.[a-z0-9-]+\.[a-z0-9-]+$")]
VolumeGigabytes = Annotated[int, Field(ge=1, le=16_384)]
MaxRuntimeSeconds = Annotated[int, Field(ge=60, le=LONGEST_JOB_S)]
_PRINTABLE = r"^[^\x00-\x1f\x7f]*$"
"""The service model's pattern, `.*`, takes no line break."""
HyperparameterName = Annotated[str, Field(min_length=1, max_length=256, pattern=_PRINTABLE)]
HyperparameterValue = Annotated[str, Field(max_length=256, pattern=_PRINTABLE)]
"""The developer guide's quota; the service model allows 2,500 characters."""

MOST_HYPERPARAMETERS = 100
"""Of a training job. Source: docs/facts.md 4."""


def _within(bounds: Range) -> Any:  # noqa: ANN401 - pydantic gives constraints no type of their own
    """The same bounds for a setting: the trainers' are the one truth."""
    return Field(gt=bounds.above, ge=bounds.minimum, le=bounds.maximum)


_FINITE = Field(allow_inf_nan=False)


class BuiltImage(Section):
    """An image that a deployment builds from training/<framework>/Dockerfile."""

    kind: Literal["build"]
    base_image: Annotated[
        str,
        Field(
            pattern=r"^[a-z0-9._-]+(:[0-9]+)?(/[a-z0-9._-]+)*"
            r":[A-Za-z0-9_][A-Za-z0-9._-]{0,127}(@sha256:[0-9a-f]{64})?$"
        ),
    ]
    """With its tag, or tag and digest; the build argument BASE_IMAGE."""


class ExistingImage(Section):
    """An image that exists; nothing is built."""

    kind: Literal["existing"]
    uri: Annotated[
        str,
        Field(
            pattern=r"^[0-9]{12}\.dkr\.ecr\.[a-z0-9-]+\.amazonaws\.com(\.cn)?"
            r"/[a-z0-9._/-]+(:[A-Za-z0-9._-]+|@sha256:[0-9a-f]{64})$"
        ),
    ]
    """In Amazon ECR; it was built from the framework's Dockerfile, or behaves alike."""

    @property
    def digest(self) -> str | None:
        """`sha256:...`; None where a tag names the image."""
        return self.uri.partition("@")[2] or None


Image = Annotated[BuiltImage | ExistingImage, Field(discriminator="kind")]


class FrameworkSettings(Section):
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


class Instances(Section):
    """Where a job runs."""

    _job: ClassVar[str]
    """The definition's type of its step, which decides what instances there are."""

    allowed_instance_types: Annotated[
        tuple[InstanceType, ...], Field(min_length=1, strict=False), NamedOnce
    ]
    """What a starter of the pipeline may choose from."""
    instance_type: InstanceType
    """The default; one of `allowed_instance_types`."""
    volume_gb: VolumeGigabytes
    """Size of each host's volume, 1..16384. Instances with their own NVMe disks ignore it."""
    max_runtime_s: MaxRuntimeSeconds
    """Seconds after which SageMaker stops the job, 60..2419200."""

    @field_validator("allowed_instance_types")
    @classmethod
    def _exist(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        known = instance_types(cls._job)
        for name in given:
            if name not in known:
                raise ValueError(
                    f"{name!r} is no instance type that SageMaker has for {cls._job} jobs. "
                    f"{rename_fix(name, known, 'Remove it')}."
                )
        return given

    @model_validator(mode="after")
    def _default_is_offered(self) -> Self:
        if self.instance_type not in self.allowed_instance_types:
            raise ValueError(
                f"instance_type is {self.instance_type!r}, which allowed_instance_types does not "
                f"list. Allowed: {', '.join(self.allowed_instance_types)}."
            )
        return self

    @model_validator(mode="after")
    def _one_kind_of_disk(self) -> Self:
        # VolumeKmsKeyId is legal on one side of this line only, and cannot depend on a parameter.
        nvme = [name for name in self.allowed_instance_types if has_local_nvme(name)]
        if 0 < len(nvme) < len(self.allowed_instance_types):
            raise ValueError(
                f"allowed_instance_types mixes instances with local NVMe disks ({', '.join(nvme)}) "
                "and without. Allowed: one kind. Move the others to an environment of their own."
            )
        return self

    @property
    def have_volumes(self) -> bool:
        """Whether they write to volumes, which take a key, and not to NVMe disks, which do not."""
        return not has_local_nvme(self.instance_type)


class TrainingSettings(Instances):
    """The training job, and the defaults of its pipeline parameters."""

    _job = TRAINING

    instance_count: Annotated[int, Field(ge=1, le=64)]
    """Training hosts, 1..64; never more than there are shards."""
    capacity: Capacity
    """How the instances are bought."""
    input_mode: Literal["File", "FastFile"]
    """How a host gets its shards: File copies them before the start, FastFile while they are read.
    FastFile starts at once and needs no disk space; each epoch reads from S3."""
    epochs: Annotated[int, _within(bounds_of("epochs"))]
    """Times that every record is trained on."""
    batch_size: Annotated[int, _within(bounds_of("batch_size"))]
    """Records of one rank and one step."""
    learning_rate: Annotated[float, _within(bounds_of("learning_rate")), _FINITE]
    """The optimizer's."""
    seed: Annotated[int, _within(bounds_of("seed"))]
    """Of weights and shuffling."""

    @model_validator(mode="after")
    def _spot_waits_long_enough(self) -> Self:
        if isinstance(self.capacity, Spot) and self.capacity.max_wait_s < self.max_runtime_s:
            raise ValueError(
                f"capacity.max_wait_s is {self.capacity.max_wait_s}, less than max_runtime_s, "
                f"{self.max_runtime_s}. Allowed: {self.max_runtime_s} or more, since it counts "
                "waiting and running."
            )
        return self


class EvaluationSettings(Instances):
    """The evaluation job: one instance, the training image."""

    _job = PROCESSING

    max_runtime_s: Annotated[int, Field(ge=60, le=777_600)]
    """Seconds after which SageMaker stops the job, 60..777600: nine days, of a processing job."""


class GateSettings(Section):
    """What a model needs to be registered."""

    quality_threshold: Annotated[float, _within(QUALITY_THRESHOLD), _FINITE]
    """Least accuracy, or R² of a regression, on the test set, 0..1."""
    model_approval_status: Literal["PendingManualApproval", "Approved", "Rejected"]
    """Of a newly registered model."""
