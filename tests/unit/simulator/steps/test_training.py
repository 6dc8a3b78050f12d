import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from evenshard.simulator.cluster import containers
from evenshard.simulator.errors import DefinitionError, StepFailedError
from evenshard.simulator.events import HostReady, MetricsSeen, Noted
from evenshard.simulator.steps.training import run_training
from tests.unit.simulator.assemblies import channel, training_step
from tests.unit.simulator.stage import Stage

# What a container finds, written down for the test to look at.
LOOK = """
import json, os, pathlib
base = pathlib.Path(os.environ["SAGEMAKER_BASE_DIR"])
host = json.loads((base / "input/config/resourceconfig.json").read_text())["current_host"]
(base / "model" / f"{host}.txt").write_text(host)
(base / "output/data" / host).mkdir()
(base / "output/data" / host / "data.json").write_text(json.dumps({"records": int(host[-1]) * 10}))
(base / "environment.json").write_text(json.dumps(dict(os.environ)))
(base / "directory.txt").write_text(os.getcwd())
print(f"epoch=1; loss=0.{host[-1]}")
print("loss=none")
"""


def read_json(file: Path) -> object:
    return json.loads(file.read_text(encoding="utf-8"))


def test_lays_what_sagemaker_lays(stage: Stage, cast: Callable[[str], None]) -> None:
    cast(LOOK)
    run_training(stage.run_of(training_step(Environment={"DIGEST": "d1"})))
    base = stage.base_dir("algo-2")
    config = base / "input" / "config"
    assert read_json(config / "hyperparameters.json") == {"epochs": "3"}
    resources = read_json(config / "resourceconfig.json")
    assert isinstance(resources, dict)
    assert resources["current_host"] == "algo-2"
    assert resources["hosts"] == ["algo-1", "algo-2"]
    assert resources["network_interface_name"].startswith("lo")
    assert read_json(config / "inputdataconfig.json") == {
        "train": {
            "TrainingInputMode": "File",
            "S3DistributionType": "ShardedByS3Key",
            "RecordWrapperType": "None",
        },
        "validation": {
            "TrainingInputMode": "File",
            "S3DistributionType": "FullyReplicated",
            "RecordWrapperType": "None",
        },
    }
    data = base / "input" / "data"
    laid = sorted(file.relative_to(data).as_posix() for file in data.rglob("*") if file.is_file())
    assert laid == ["train-manifest", "train/part-1", "validation-manifest", "validation/all"]


def test_gives_the_environment_of_the_contract(stage: Stage, cast: Callable[[str], None]) -> None:
    cast(LOOK)
    run_training(stage.run_of(training_step(Environment={"DIGEST": "d1"})))
    base = stage.base_dir("algo-1")
    environment = read_json(base / "environment.json")
    assert isinstance(environment, dict)
    assert environment["DIGEST"] == "d1"
    assert environment["TRAINING_JOB_NAME"] == "pipelines-abc123abc123-Train-local"
    assert environment["TRAINING_JOB_ARN"].endswith(
        ":training-job/pipelines-abc123abc123-train-local"
    )
    assert environment["EVENSHARD_DEVICES_PER_HOST"] == "2"
    peers = json.loads(environment["EVENSHARD_PEERS"])
    assert sorted(peers) == ["algo-1", "algo-2"]
    addresses = [address for of_host in peers.values() for address in of_host]
    assert len(set(addresses)) == 4  # one per rank
    assert all(address.startswith("127.0.0.1:") for address in addresses)
    assert (Path((base / "directory.txt").read_text()) / "evenshard").is_dir()


def test_records_hosts_metrics_and_artifacts(stage: Stage, cast: Callable[[str], None]) -> None:
    cast(LOOK)
    run = stage.run_of(training_step())
    outcome = run_training(run)
    assert [host.document() for host in run.record.hosts] == [
        {"name": "algo-1", "objects": 2, "bytes": 4, "records": 10},
        {"name": "algo-2", "objects": 1, "bytes": 2, "records": 20},
    ]
    assert sorted(run.record.metrics["train:loss"]) == [0.1, 0.2]
    uri = outcome.properties["ModelArtifacts"]["S3ModelArtifacts"]
    assert uri == ("s3://results/models/pipelines-abc123abc123-Train-local/output/model.tar.gz")
    model = stage.store.local_file(uri)
    assert model is not None
    with tarfile.open(model) as archive:
        assert archive.getnames() == ["algo-1.txt", "algo-2.txt"]
    with tarfile.open(model.with_name("output.tar.gz")) as archive:
        assert archive.getnames() == ["algo-1/data.json", "algo-2/data.json"]
    ready = [event for event in stage.events if isinstance(event, HostReady)]
    assert [(event.host, event.objects) for event in ready] == [("algo-1", 2), ("algo-2", 1)]
    assert len([event for event in stage.events if isinstance(event, MetricsSeen)]) == 2


def test_a_host_without_an_object_gets_an_empty_folder(
    stage: Stage, cast: Callable[[str], None]
) -> None:
    cast(LOOK)
    resources = {"InstanceCount": 4, "InstanceType": "ml.g5.xlarge"}
    run = stage.run_of(training_step(ResourceConfig=resources))
    run_training(run)
    assert [host.objects for host in run.record.hosts] == [1, 1, 1, 0]
    folder = stage.base_dir("algo-4") / "input" / "data" / "train"
    assert folder.is_dir()
    assert list(folder.iterdir()) == []


def test_two_hosts_that_write_one_model_file_fail_the_step(
    stage: Stage, cast: Callable[[str], None]
) -> None:
    cast(LOOK.replace('f"{host}.txt"', '"weights.bin"'))
    with pytest.raises(StepFailedError) as error:
        run_training(stage.run_of(training_step()))
    assert "algo-1 and algo-2 wrote weights.bin" in str(error.value)
    assert "SageMaker would" in str(error.value)
    assert stage.store.list("s3://results/") == []


def test_two_hosts_that_write_one_output_file_are_noted(
    stage: Stage, cast: Callable[[str], None]
) -> None:
    cast(LOOK + '(base / "output/data/stats.json").write_text("{}")\n')
    run_training(stage.run_of(training_step()))
    (noted,) = [event for event in stage.events if isinstance(event, Noted)]
    assert "algo-1 and algo-2 wrote stats.json" in noted.text


def test_the_cause_of_a_failure_is_told_from_its_consequences(
    stage: Stage, cast: Callable[[str], None]
) -> None:
    cast(
        LOOK + "reason = 'Secondary failure on algo-1: it lost the others'\n"
        "reason = reason if host == 'algo-1' else 'part-1, line 3: no label'\n"
        "(base / 'output/failure').write_text(reason)\n"
        "raise SystemExit(3)\n"
    )
    run = stage.run_of(training_step())
    with pytest.raises(StepFailedError) as error:
        run_training(run)
    assert str(error.value) == "AlgorithmError: part-1, line 3: no label, exit code: 3"
    assert [host.records for host in run.record.hosts] == [10, 20]


def test_a_failure_without_a_reason_shows_the_end_of_the_log(
    stage: Stage, cast: Callable[[str], None]
) -> None:
    cast("print('last words'); import os; os.kill(os.getpid(), 9)")
    with pytest.raises(StepFailedError) as error:
        run_training(stage.run_of(training_step()))
    assert "last words, exit code: 137" in str(error.value)


def test_the_reason_is_cut_where_sagemaker_cuts_it(
    stage: Stage, cast: Callable[[str], None]
) -> None:
    cast(LOOK + "(base / 'output/failure').write_text('ä' * 5000); raise SystemExit(1)")
    with pytest.raises(StepFailedError) as error:
        run_training(stage.run_of(training_step()))
    assert str(error.value).count("ä") == 1024


@pytest.mark.parametrize("words", ["(base / 'output/failure').write_text(said)", "print(said)"])
def test_reasons_name_paths_as_the_container_sees_them(
    stage: Stage, cast: Callable[[str], None], words: str
) -> None:
    cast(f"{LOOK}said = f'no data below {{base}}/input/data/train'; {words}; raise SystemExit(1)")
    with pytest.raises(StepFailedError) as error:
        run_training(stage.run_of(training_step()))
    assert "no data below /opt/ml/input/data/train, exit code: 1" in str(error.value)
    assert str(stage.workspace.folder) not in str(error.value)


def test_long_paths_take_nothing_from_what_sagemaker_reads_of_a_reason(
    stage: Stage, cast: Callable[[str], None]
) -> None:
    cast(
        LOOK + "said = f'{base}/input: ' + 'x' * 1009 + 'end' + 'y' * 500\n"
        "(base / 'output/failure').write_text(said); raise SystemExit(1)"
    )
    with pytest.raises(StepFailedError, match=r"^AlgorithmError: /opt/ml/input: x{1009}, exit"):
        run_training(stage.run_of(training_step()))


def test_reported_lines_name_paths_as_the_container_sees_them(
    stage: Stage, cast: Callable[[str], None]
) -> None:
    cast(LOOK + "print(f'loss=1 {base}/model')")
    run_training(stage.run_of(training_step()))
    lines = [event.line for event in stage.events if isinstance(event, MetricsSeen)]
    assert lines.count("loss=1 /opt/ml/model") == 2


def test_only_a_whole_name_is_a_hosts_folder() -> None:
    base = Path("/run/hosts/algo-1")
    assert containers.as_in_container("/run/hosts/algo-10/x", base) == "/run/hosts/algo-10/x"
    assert containers.as_in_container("in /run/hosts/algo-1.", base) == "in /opt/ml."


def test_a_job_over_its_time_limit_fails(stage: Stage, cast: Callable[[str], None]) -> None:
    cast("import time; time.sleep(600)")
    with pytest.raises(StepFailedError, match=r"MaxRuntimeExceeded.* MaxRuntimeInSeconds, 1"):
        run_training(stage.run_of(training_step(StoppingCondition={"MaxRuntimeInSeconds": 1})))


def test_a_prefix_without_objects_is_refused_before_any_host_starts(
    stage: Stage, cast: Callable[[str], None]
) -> None:
    cast(LOOK)
    channels = [channel("train", "s3://data/nothing/", "ShardedByS3Key")]
    with pytest.raises(StepFailedError, match="no objects under s3://data/nothing/"):
        run_training(stage.run_of(training_step(InputDataConfig=channels)))
    assert not stage.base_dir("algo-1").exists()


@pytest.mark.parametrize(
    ("regex", "message"), [("loss=([0-9", "no regular expression"), ("loss=", "has no group")]
)
def test_refuses_metric_definitions_that_find_nothing(
    stage: Stage, regex: str, message: str
) -> None:
    step = training_step()
    step["Arguments"]["AlgorithmSpecification"]["MetricDefinitions"][0]["Regex"] = regex
    with pytest.raises(DefinitionError, match=message):
        run_training(stage.run_of(step))


@pytest.mark.parametrize(
    "entrypoint",
    [["bash", "run.sh"], ["python3", "train.py"], ["python3", "-m", "os"], ["python3", "-m"], []],
)
def test_refuses_commands_other_than_our_modules(entrypoint: list[str]) -> None:
    specification = {"ContainerEntrypoint": entrypoint}
    with pytest.raises(DefinitionError, match=r"X\.ContainerEntrypoint: .* cannot be simulated"):
        containers.container_command(specification, "X")


def test_drops_the_images_wrapper_and_appends_the_arguments() -> None:
    specification = {
        "ContainerEntrypoint": ["/usr/local/bin/entrypoint.sh", "python3", "-m", "training.launch"],
        "ContainerArguments": ["pytorch"],
    }
    command = containers.container_command(specification, "X")
    assert command[1:] == ["-m", "training.launch", "pytorch"]
