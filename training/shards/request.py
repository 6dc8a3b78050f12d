"""What the pipeline asks of Preflight: its arguments, read and checked before anything is listed.

Numbers are checked here, since the trainer would refuse them only once its GPUs are running.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType
from typing import Any, Final

from training.contract.bounds import Range
from training.contract.hyperparameters import (
    DATA_FORMAT,
    PROGRAM,
    TASK,
    TEXT_TASK,
    TrainingHyperparameters,
)
from training.contract.parsing import HyperparameterError, parse
from training.shards.location import Location

TRAIN: Final = "TrainDataUri"
VALIDATION: Final = "ValidationDataUri"
TEST: Final = "TestDataUri"
_URIS: Final = MappingProxyType(
    {"train_data_uri": TRAIN, "validation_data_uri": VALIDATION, "test_data_uri": TEST}
)

HYPERPARAMETERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "epochs": "Epochs",
        "batch_size": "BatchSize",
        "learning_rate": "LearningRate",
        "seed": "Seed",
    }
)
"""Hyperparameters that each execution may choose, and the pipeline parameters that hold them."""

QUALITY_THRESHOLD: Final = Range(minimum=0, maximum=1)
"""An accuracy, or the R² of a regression."""


class PreflightError(Exception):
    """The data cannot feed this training job; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One of the three data sets."""

    parameter: str
    """The pipeline parameter that names it."""
    location: Location
    task: str
    """The hyperparameter, which decides on the formats."""
    any_name: bool
    """Whether its shards may be called anything: a script reads them, or their format is named."""

    def __str__(self) -> str:
        return f"{self.parameter} {self.location}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreflightRequest:
    """What the pipeline asks, read from the event."""

    train: Source
    validation: Source
    test: Source
    host_count: int
    """1 or more."""
    allow_empty_hosts: bool

    @classmethod
    def from_event(cls, event: Mapping[str, Any]) -> "PreflightRequest":
        """Read the step's arguments.

        Raises:
            PreflightError: naming every argument that is wrong.
        """
        problems: list[str] = []
        sources = {
            parameter: Source(
                parameter=parameter,
                location=location,
                task=str(event.get(TASK, TEXT_TASK)),
                any_name=any_name,
            )
            for parameter, location, any_name in _locations(event, problems)
        }
        problems.extend(_overlaps(sources.values()))
        host_count = _host_count(event.get("instance_count"), problems)
        allow = str(event.get("allow_empty_hosts", "false")).lower()
        if allow not in ("true", "false"):
            problems.append(f"AllowEmptyHosts is {allow!r}. Allowed: true, false.")
        problems.extend(_number_problems(event))
        if problems:
            raise PreflightError(" ".join(problems))
        return cls(
            train=sources[TRAIN],
            validation=sources[VALIDATION],
            test=sources[TEST],
            host_count=host_count,
            allow_empty_hosts=allow == "true",
        )


def _locations(
    event: Mapping[str, Any], problems: list[str]
) -> Iterator[tuple[str, Location, bool]]:
    """Yield parameter, location and whether any name will do, of those that can be read."""
    for key, parameter in _URIS.items():
        try:
            location = Location.parse(str(event.get(key, "")), parameter=parameter)
        except ValueError as error:
            problems.append(str(error))
            continue
        # The test set is Evaluate's, which reads what the trainers read, no script's own formats.
        own_reader = PROGRAM in event and parameter != TEST
        yield parameter, location, own_reader or DATA_FORMAT in event


def _host_count(given: object, problems: list[str]) -> int:
    try:
        count = int(str(given))
    except ValueError:
        count = 0
    if count < 1:
        problems.append(f"InstanceCount is {given!r}. Allowed: a whole number, 1 or more.")
    return count


def _number_problems(event: Mapping[str, Any]) -> Iterator[str]:
    for name, parameter in HYPERPARAMETERS.items():
        try:
            parse(TrainingHyperparameters, {name: str(event.get(name))})
        except HyperparameterError as error:
            yield f"{parameter}: {error}"
    given = event.get("quality_threshold")
    try:
        threshold = float(str(given))
    except ValueError:
        threshold = float("nan")
    if not QUALITY_THRESHOLD.holds(threshold):
        yield (
            f"QualityThreshold is {given!r}. Allowed: a number {QUALITY_THRESHOLD}; "
            "0.95 stands for 95 % of the test set."
        )


def _overlaps(sources: Iterable[Source]) -> Iterator[str]:
    for first, second in combinations(sources, 2):
        if first.location.contains(second.location) or second.location.contains(first.location):
            known = "it has seen" if first.parameter == TRAIN else "it was tuned on"
            yield (
                f"{first} and {second} overlap: the model would be judged on records {known}. "
                "Give each its own folder."
            )
