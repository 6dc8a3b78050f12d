"""Fields of a training job's request that are no data and no command."""

import json
from collections.abc import Callable

import pytest

from evenshard.simulator.errors import DefinitionError
from evenshard.simulator.steps.training import run_training
from tests.unit.simulator.assemblies import channel, training_step
from tests.unit.simulator.scripts import trainer
from tests.unit.simulator.stage import Stage, notes


def test_tensorboard_files_go_below_the_jobs_name(
    stage: Stage, cast: Callable[[str], None]
) -> None:
    cast(trainer('(base / "output/tensorboard" / f"events-{number}").write_text("x")'))
    run_training(
        stage.run_of(training_step(TensorBoardOutputConfig={"S3OutputPath": "s3://results/board"}))
    )
    uri = "s3://results/board/pipelines-abc123abc123-Train-local/tensorboard-output/"
    assert [stored.key.rpartition("/")[2] for stored in stage.store.list(uri)] == [
        "events-1",
        "events-2",
    ]


def test_local_paths_outside_the_contract_are_refused(
    stage: Stage, cast: Callable[[str], None]
) -> None:
    cast(trainer())
    refused = "/tmp/checkpoints"  # noqa: S108 - nothing is written there
    config = {"S3Uri": "s3://results/checkpoints/", "LocalPath": refused}
    with pytest.raises(DefinitionError, match="is not below /opt/ml/"):
        run_training(stage.run_of(training_step(CheckpointConfig=config)))


def test_fast_file_is_told_to_the_container_and_noted(
    stage: Stage, cast: Callable[[str], None]
) -> None:
    cast(trainer())
    train = {**channel("train", "s3://data/train/", "ShardedByS3Key"), "InputMode": "FastFile"}
    validation = channel("validation", "s3://data/validation/", "FullyReplicated")
    run_training(stage.run_of(training_step(InputDataConfig=[train, validation])))
    config = stage.base_dir("algo-1") / "input" / "config" / "inputdataconfig.json"
    modes = {n: c["TrainingInputMode"] for n, c in json.loads(config.read_text()).items()}
    assert modes == {"train": "FastFile", "validation": "File"}
    assert notes(stage.events) == [
        "train: FastFile is simulated by copies; nothing is streamed.",
    ]


def test_fast_file_takes_no_beginnings_of_names(stage: Stage, cast: Callable[[str], None]) -> None:
    cast(trainer())
    train = {**channel("train", "s3://data/tra", "ShardedByS3Key"), "InputMode": "FastFile"}
    with pytest.raises(DefinitionError, match="s3://data/tra is the beginning of a name"):
        run_training(stage.run_of(training_step(InputDataConfig=[train])))
