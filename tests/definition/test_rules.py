"""Our own rules: each has a definition that passes and one that fails."""

from pathlib import Path

import pytest

from infra.pipeline.validation import problems, rules
from infra.pipeline.validation.rules import RULES
from tests.definition.documents import baseline
from tests.definition.edits import Json, as_text, at, drop, get, put
from tests.definition.judged import found_in
from tests.definition.rule_cases import (
    CASES,
    CHECKPOINT,
    EXECUTION_ID,
    REPOSITORY,
    TRAIN,
    WAIT,
    spot,
)


def test_every_rule_module_is_registered_and_has_its_cases() -> None:
    folder = Path(rules.__file__).parent
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert {rule.__module__.rpartition(".")[2] for rule in RULES.values()} == modules
    assert set(RULES) == set(CASES)


@pytest.mark.parametrize("rule", sorted(CASES))
def test_definition_that_keeps_the_rule_passes(rule: str) -> None:
    definition = baseline()
    CASES[rule].passes(definition)
    assert problems(definition) == []


@pytest.mark.parametrize("rule", sorted(CASES))
def test_definition_that_breaks_the_rule_fails(rule: str) -> None:
    definition = baseline()
    CASES[rule].fails(definition)
    found = found_in(definition)
    assert found == [(CASES[rule].path, rule)]


@pytest.mark.parametrize("image", [REPOSITORY, f"localhost:5000/{REPOSITORY}", "a:latest"])
def test_an_image_that_may_change_is_refused_where_a_model_names_it(image: str) -> None:
    definition = baseline()
    place = "Steps.QualityGate.Arguments.IfSteps"
    [register] = at(definition, place)
    register["Arguments"]["InferenceSpecification"]["Containers"][0]["Image"] = image
    (problem,) = problems(definition)
    assert problem.rule == "image-name-fixed"
    assert problem.path.endswith("Register.Arguments.InferenceSpecification.Containers[0].Image")


@pytest.mark.parametrize("value", ["AKIA" + "0" * 16, "-----BEGIN RSA PRIVATE KEY-----"])
def test_a_value_that_looks_like_a_key_is_refused_and_not_repeated(value: str) -> None:
    definition = baseline()
    put(definition, f"{TRAIN}.HyperParameters.note", value)
    (problem,) = problems(definition)
    assert problem.rule == "literal-secret"
    assert value not in str(problem)


def test_isolation_is_no_run_time_switch() -> None:
    definition = baseline()
    definition["Parameters"].append({"Name": "Isolate", "Type": "Boolean", "DefaultValue": True})
    put(definition, f"{TRAIN}.EnableNetworkIsolation", get("Parameters.Isolate"))
    assert [problem.rule for problem in problems(definition)] == ["job-isolated"]


def test_spot_is_no_run_time_switch() -> None:
    definition = baseline()
    spot(definition)
    definition["Parameters"].append({"Name": "Spot", "Type": "Boolean", "DefaultValue": True})
    put(definition, f"{TRAIN}.EnableManagedSpotTraining", get("Parameters.Spot"))
    assert [problem.rule for problem in problems(definition)] == ["max-wait-needs-spot"]


def test_spot_without_max_wait_is_refused() -> None:
    definition = baseline()
    spot(definition)
    drop(definition, WAIT)
    assert [problem.rule for problem in problems(definition)] == ["spot-needs-max-wait"]


@pytest.mark.parametrize(
    "uri", [as_text("s3://bucket/", EXECUTION_ID), as_text("s3://b/", EXECUTION_ID, "/c")]
)
def test_a_checkpoint_prefix_without_its_slash_is_refused(uri: Json) -> None:
    definition = baseline()
    put(definition, CHECKPOINT, uri)
    (problem,) = problems(definition)
    assert (problem.path, problem.rule) == (CHECKPOINT, "checkpoint-per-execution")
    assert problem.fix == "Add a slash at the end"


def test_a_checkpoint_prefix_may_end_in_a_token() -> None:
    definition = baseline()
    put(definition, CHECKPOINT, as_text("s3://b/", EXECUTION_ID, "${Token[TOKEN.1]}"))
    assert problems(definition) == []


def test_tensorboard_events_are_where_the_trainers_write_them() -> None:
    definition = baseline()
    config = {"S3OutputPath": "s3://bucket/t/", "LocalPath": "/opt/ml/output/tensorboard"}
    put(definition, f"{TRAIN}.TensorBoardOutputConfig", config)
    assert problems(definition) == []
    config["LocalPath"] = "/opt/tensorboard"
    (problem,) = problems(definition)
    assert problem.path == f"{TRAIN}.TensorBoardOutputConfig.LocalPath"


@pytest.mark.parametrize("name", ["validation", "test", "model", "vocabulary"])
def test_whole_channels_by_name(name: str) -> None:
    definition = baseline()
    channel = at(definition, f"{TRAIN}.InputDataConfig[1]")
    channel["ChannelName"] = name
    channel["DataSource"]["S3DataSource"]["S3DataDistributionType"] = "ShardedByS3Key"
    assert [problem.rule for problem in problems(definition)] == ["whole-channel-replicated"]


def test_train_channel_on_a_file_system_is_refused() -> None:
    definition = baseline()
    source = {
        "FileSystemDataSource": {
            "FileSystemId": "fs-12345678901",
            "FileSystemAccessMode": "ro",
            "FileSystemType": "FSxLustre",
            "DirectoryPath": "/train",
        }
    }
    put(definition, f"{TRAIN}.InputDataConfig[0].DataSource", source)
    assert [problem.rule for problem in problems(definition)] == ["train-channel-sharded"]
