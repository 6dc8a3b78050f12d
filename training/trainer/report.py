"""What the trainers say: log, metric lines, the data report, and losses that are no numbers."""

import json
import logging
import math
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from training.contract.cluster import Cluster
from training.contract.hyperparameters import TrainingHyperparameters
from training.contract.layout import DATA_DIGEST_VARIABLE, DATA_REPORT_FILE
from training.contract.paths import ContainerPaths
from training.records import EpochPlan, RecordError, RecordLoader
from training.trainer.output import check_output_folder, explained
from training.trainer.ranks import JobRanks

_DATA_REPORT: Final = "data report"


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """How good a model is on records it was not trained on."""

    loss: float
    """Mean over the records of all ranks."""
    accuracy: float
    """The part of the records that is decided as labelled, 0..1."""


def check_validation(plan: EpochPlan) -> None:
    """Refuse a validation of nothing.

    Raises:
        RecordError: on all ranks alike: there are no records.
    """
    if plan.records == 0:
        raise RecordError(
            "The validation channel holds no records, so nobody could tell whether the training "
            "works. Put at least one record under ValidationDataUri."
        )


def set_up_log(ranks: JobRanks) -> None:
    """Log what happens on stdout."""
    # The ranks of a host read the same folder: one of them remarking on it is enough.
    level = logging.INFO if ranks.local_rank == 0 else logging.ERROR
    logging.basicConfig(level=level, format="%(message)s", stream=sys.stdout)


def check_loss(loss: float, epoch: int, settings: TrainingHyperparameters) -> None:
    """Refuse weights that ran away in an epoch's last step: that shows in the validation only.

    Raises:
        FloatingPointError: on all ranks alike, for the loss is the same on all.
    """
    if not math.isfinite(loss):
        raise FloatingPointError(
            f"The validation loss of epoch {epoch + 1} is {loss}: the weights have run away. "
            f"learning_rate is {settings.learning_rate:g}; take a tenth of it."
        )


def check_outputs(paths: ContainerPaths, cluster: Cluster, ranks: JobRanks) -> None:
    """See that this rank can write what it is to leave.

    Raises:
        OutputError: it cannot.
    """
    if ranks.rank == 0:
        check_output_folder(paths.model_dir)
    if ranks.local_rank == 0:
        check_output_folder(_report_folder(paths, cluster), what=_DATA_REPORT)


def write_data_report(
    paths: ContainerPaths, cluster: Cluster, train_data: RecordLoader, plan: EpochPlan
) -> None:
    """Say how many records this host has.

    Raises:
        OutputError: it cannot be written.
    """
    folder = _report_folder(paths, cluster)
    report = {
        "host": cluster.current_host,
        "records": sum(train_data.counts),
        "records_per_rank": train_data.counts,
        "steps": plan.steps,
        "data_digest": os.environ.get(DATA_DIGEST_VARIABLE),
    }
    text = json.dumps(report, indent=2) + "\n"
    with explained(folder, what=_DATA_REPORT):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / DATA_REPORT_FILE).write_text(text, encoding="utf-8")


def _report_folder(paths: ContainerPaths, cluster: Cluster) -> Path:
    """The folder of this host's data report. One per host: SageMaker merges those of all."""
    return paths.output_data_dir / cluster.current_host
