"""Faults, stops, interruptions and resumption of a training step, with a script for a trainer."""

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from evenshard.errors import UsageError
from evenshard.simulator import Event, SimulationRequest, simulate
from evenshard.simulator.cluster import hosts
from evenshard.simulator.cluster.faults import parse_fault
from evenshard.simulator.cluster.injection import FaultPlan
from evenshard.simulator.errors import DefinitionError, StepFailedError, StepStoppedError
from evenshard.simulator.events import FaultHappened, Noted
from evenshard.simulator.pipeline.retries import JOB_INTERNAL_ERROR
from evenshard.simulator.steps.outcome import StepRun
from evenshard.simulator.steps.training import run_training
from tests.unit.simulator.assemblies import (
    Json,
    channel,
    definition_of,
    training_step,
    write_assembly,
)
from tests.unit.simulator.stage import Stage, make_stage, play

CHECKPOINTS = "s3://results/checkpoints/"
# One process stands for the first rank of its host. It takes six steps, or goes on with those that
# its checkpoint says are done; told to stop, it saves and ends.
TRAINER = """
import json, os, pathlib, signal, sys
sys.path.insert(0, os.getcwd())
from training.contract.breakpoints import Breakpoints
base = pathlib.Path(os.environ["SAGEMAKER_BASE_DIR"])
host = json.loads((base / "input/config/resourceconfig.json").read_text())["current_host"]
number = int(host[5:])
told = []
signal.signal(signal.SIGTERM, lambda *_: told.append(1))
breakpoints = Breakpoints.from_environment(
    rank=(number - 1) * int(os.environ["EVENSHARD_DEVICES_PER_HOST"])
)
saved = base / "checkpoints" / host
def save(done):
    if saved.parent.is_dir():
        saved.write_text(str(done))
breakpoints.reach("start")
done = int(saved.read_text()) if saved.exists() else 0
print(f"began={done}", flush=True)
while done < 6:
    done += 1
    breakpoints.reach("step", done)
    if told:
        save(done)
        sys.exit(0)
{extra}
save(done)
(base / "model" / host).write_text(str(done))
print(f"loss={done}.5", flush=True)
"""
BIG_FILE = """
try:
    (base / "model" / "big").write_bytes(bytes(100_000))
except OSError as error:
    (base / "output" / "failure").write_text(f"cannot save: {error.strerror}")
    sys.exit(1)
"""
FAILS_ON_ALGO_1 = """
if number == 1:
    (base / "output" / "failure").write_text("lost patience")
    sys.exit(3)
"""


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return make_stage(tmp_path)


@pytest.fixture
def cast(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    def with_extra(extra: str = "") -> None:
        play(monkeypatch, tmp_path)(TRAINER.replace("{extra}", extra))

    return with_extra


def run_of(stage: Stage, *faults: str, **arguments: object) -> StepRun:
    plan = FaultPlan.of([parse_fault(text) for text in faults])
    run = stage.run_of(training_step("Train", CheckpointConfig={"S3Uri": CHECKPOINTS}, **arguments))
    return replace(run, workspace=replace(stage.workspace, faults=plan, grace_s=4.0))


def began(stage: Stage, host: str, folder: str = "hosts") -> int:
    log = stage.workspace.folder / "steps" / "Train" / folder / host / "log.txt"
    (line,) = [each for each in log.read_text().splitlines() if each.startswith("began=")]
    return int(line.removeprefix("began="))


def happened(stage: Stage) -> list[str]:
    return [event.fault for event in stage.events if isinstance(event, FaultHappened)]


def notes(events: list[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, Noted)]


def test_hosts_that_are_all_told_and_end_well_make_a_stopped_job(
    stage: Stage, cast: Callable[[], None]
) -> None:
    cast()
    run = run_of(stage, "sigterm:algo-1@step=3", "sigterm:algo-2@step=4")
    with pytest.raises(StepStoppedError, match="every host was told to, and ended well"):
        run_training(run)
    assert stage.store.read(f"{CHECKPOINTS}algo-1") == b"3"
    assert stage.store.read(f"{CHECKPOINTS}algo-2") == b"4"
    assert sorted(happened(stage)) == ["sigterm:algo-1@step=3", "sigterm:algo-2@step=4"]
    assert all(planned.after_s for planned in run.workspace.faults.planned)


def test_where_only_one_host_is_told_the_exit_codes_decide(
    stage: Stage, cast: Callable[[], None]
) -> None:
    cast()
    outcome = run_training(run_of(stage, "sigterm:algo-2@step=3"))
    # Nothing in SageMaker's contract tells this job from one that ran to its end: it is the trainer
    # that must not exit with 0 on the other hosts.
    assert outcome.properties["TrainingJobStatus"] == "Completed"
    assert stage.store.read(f"{CHECKPOINTS}algo-2") == b"3"


def test_an_interrupted_spot_job_lists_its_inputs_again_and_goes_on(
    stage: Stage, cast: Callable[[], None]
) -> None:
    cast()
    fault = "spot:algo-2@step=2"
    run = run_of(stage, fault, "stall:algo-1@step=3", EnableManagedSpotTraining=True)

    def report(event: Event) -> None:
        stage.events.append(event)
        if isinstance(event, FaultHappened) and event.fault == fault:
            stage.put("s3://data/train/part-9", b"late")

    run = replace(run, workspace=replace(run.workspace, report=report))
    outcome = run_training(run)
    assert outcome.properties["TrainingJobStatus"] == "Completed"
    assert run.record.interruptions == 1
    # algo-1 did not listen, was killed after the grace and lost its steps; algo-2 saved two.
    assert (began(stage, "algo-1"), began(stage, "algo-2")) == (0, 2)
    assert (began(stage, "algo-1", "hosts-1"), began(stage, "algo-2", "hosts-1")) == (0, 0)
    assert [host.objects for host in run.record.hosts] == [2, 2]
    assert "Train was interrupted; it starts again from its checkpoints." in notes(stage.events)


def test_an_interrupted_job_may_find_its_objects_on_other_hosts(
    stage: Stage, cast: Callable[[], None]
) -> None:
    cast()
    seen: list[tuple[str, ...]] = []
    run = run_of(stage, "spot:algo-1@step=2")
    turned = replace(
        run.workspace.assignment,
        assign=lambda keys, hosts, restarts: {
            host: list(keys) if index == restarts else [] for index, host in enumerate(hosts)
        },
    )
    run = replace(run, workspace=replace(run.workspace, assignment=turned))
    run_training(run)
    train = "steps/Train/{}/{}/input/data/train"
    for folder in ("hosts-1", "hosts"):
        found = [
            tuple(
                sorted(f.name for f in (stage.workspace.folder / train.format(folder, h)).iterdir())
            )
            for h in ("algo-1", "algo-2")
        ]
        seen.extend(found)
    everything = ("part-0", "part-1", "part-2")
    assert seen == [everything, (), (), everything]
    assert any("uses no spot instances" in text for text in notes(stage.events))


def test_a_spot_job_without_checkpoints_starts_all_over(
    stage: Stage, cast: Callable[[], None]
) -> None:
    cast()
    run = stage.run_of(training_step(EnableManagedSpotTraining=True))
    plan = FaultPlan.of([parse_fault("spot:algo-1@step=2")])
    run_training(replace(run, workspace=replace(stage.workspace, faults=plan)))
    assert began(stage, "algo-1") == 0
    assert any("has no CheckpointConfig" in text for text in notes(stage.events))


def test_a_spot_job_that_waits_too_long_fails(stage: Stage, cast: Callable[[], None]) -> None:
    cast()
    condition = {"MaxRuntimeInSeconds": 60, "MaxWaitTimeInSeconds": 1}
    run = run_of(stage, "spot:algo-1@step=2", StoppingCondition=condition)
    with pytest.raises(StepFailedError, match=r"MaxWaitTimeExceeded.* MaxWaitTimeInSeconds, 1"):
        run_training(run)


def test_a_lost_machine_is_an_internal_error(stage: Stage, cast: Callable[[], None]) -> None:
    cast()
    with pytest.raises(StepFailedError, match=r"InternalServerError.*algo-2 went away") as error:
        run_training(run_of(stage, "sigkill:algo-2@step=2"))
    assert error.value.retry_as == JOB_INTERNAL_ERROR


def test_a_killed_rank_is_an_error_of_the_job(stage: Stage, cast: Callable[[], None]) -> None:
    cast()
    with pytest.raises(StepFailedError, match=r"AlgorithmError.*exit code: 137") as error:
        run_training(run_of(stage, "sigkill:algo-2/0@step=2"))
    assert error.value.retry_as is None


def test_a_stalled_host_that_ignores_its_signal_does_not_hide_the_reason(
    stage: Stage, cast: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosts, "_PEERS_GRACE_S", 0.2)
    cast(FAILS_ON_ALGO_1)
    with pytest.raises(StepFailedError, match="lost patience, exit code: 3"):
        run_training(run_of(stage, "stall:algo-2@step=2"))
    assert happened(stage) == ["stall:algo-2@step=2"]


def test_a_full_disk_takes_no_more_bytes(stage: Stage, cast: Callable[[str], None]) -> None:
    cast(BIG_FILE)
    with pytest.raises(StepFailedError, match="cannot save: File too large, exit code: 1"):
        run_training(run_of(stage, "disk-full:algo-2@step=6"))


def test_disks_are_not_full_without_the_fault(stage: Stage, cast: Callable[[str], None]) -> None:
    cast(BIG_FILE.replace('"big"', 'f"big-{number}"'))
    assert run_training(run_of(stage)).properties["TrainingJobStatus"] == "Completed"


def test_a_slow_host_only_takes_longer(stage: Stage, cast: Callable[[], None]) -> None:
    cast()
    run = run_of(stage, "slow:algo-2x2")
    assert run_training(run).properties["TrainingJobStatus"] == "Completed"
    assert happened(stage) == ["slow:algo-2x2"]


def test_the_time_limit_leaves_checkpoints(stage: Stage, cast: Callable[[str], None]) -> None:
    cast("import time\nwhile not told: time.sleep(0.05)\nsave(done); sys.exit(0)")
    run = run_of(stage, StoppingCondition={"MaxRuntimeInSeconds": 2})
    with pytest.raises(StepFailedError, match="MaxRuntimeExceeded"):
        run_training(run)
    assert stage.store.read(f"{CHECKPOINTS}algo-1") == b"6"


def test_tensorboard_files_go_below_the_jobs_name(
    stage: Stage, cast: Callable[[str], None]
) -> None:
    cast('(base / "output/tensorboard" / f"events-{number}").write_text("x")')
    run_training(run_of(stage, TensorBoardOutputConfig={"S3OutputPath": "s3://results/board"}))
    uri = "s3://results/board/pipelines-abc123abc123-Train-local/tensorboard-output/"
    assert [stored.key.rpartition("/")[2] for stored in stage.store.list(uri)] == [
        "events-1",
        "events-2",
    ]


def test_local_paths_outside_the_contract_are_refused(
    stage: Stage, cast: Callable[[], None]
) -> None:
    cast()
    config = {"S3Uri": CHECKPOINTS, "LocalPath": "/tmp/checkpoints"}  # noqa: S108 - is refused
    with pytest.raises(DefinitionError, match="is not below /opt/ml/"):
        run_training(stage.run_of(training_step(CheckpointConfig=config)))


def test_fast_file_is_told_to_the_container_and_noted(
    stage: Stage, cast: Callable[[], None]
) -> None:
    cast()
    train = {**channel("train", "s3://data/train/", "ShardedByS3Key"), "InputMode": "FastFile"}
    validation = channel("validation", "s3://data/validation/", "FullyReplicated")
    run_training(run_of(stage, InputDataConfig=[train, validation]))
    config = stage.base_dir("algo-1") / "input" / "config" / "inputdataconfig.json"
    modes = {n: c["TrainingInputMode"] for n, c in json.loads(config.read_text()).items()}
    assert modes == {"train": "FastFile", "validation": "File"}
    assert notes(stage.events) == [
        "train: FastFile is simulated by copies; nothing is streamed.",
    ]


def test_fast_file_takes_no_beginnings_of_names(stage: Stage, cast: Callable[[], None]) -> None:
    cast()
    train = {**channel("train", "s3://data/tra", "ShardedByS3Key"), "InputMode": "FastFile"}
    with pytest.raises(DefinitionError, match="s3://data/tra is the beginning of a name"):
        run_training(run_of(stage, InputDataConfig=[train]))


# Whole executions


@pytest.fixture
def request_(tmp_path: Path, cast: Callable[[], None]) -> SimulationRequest:
    cast()
    for split in ("train", "validation"):
        (tmp_path / "data" / split).mkdir(parents=True)
        (tmp_path / "data" / split / "part-0").write_text("x")
    policies = [
        {
            "ExceptionType": [JOB_INTERNAL_ERROR],
            "IntervalSeconds": 60,
            "BackoffRate": 1,
            "MaxAttempts": 1,
        }
    ]
    checkpoints = {"On": "/", "Values": ["s3://results", {"Get": EXECUTION_ID}, "checkpoints/"]}
    step = training_step(
        CheckpointConfig={"S3Uri": {"Std:Join": checkpoints}},
        InputDataConfig=[
            channel("train", "s3://evenshard-data/train/", "ShardedByS3Key"),
            channel("validation", "s3://evenshard-data/validation/", "FullyReplicated"),
        ],
    )
    definition = definition_of({**step, "RetryPolicies": policies}, parameters=PARAMETERS)
    return SimulationRequest(
        framework="pytorch",
        data=tmp_path / "data",
        assembly=write_assembly(tmp_path / "assembly", definition),
        state_folder=tmp_path / "state",
        grace_s=4.0,
    )


EXECUTION_ID = "Execution.PipelineExecutionId"
PARAMETERS: list[Json] = [
    {"Name": name, "Type": "String", "DefaultValue": ""}
    for name in ("TrainDataUri", "ValidationDataUri", "TestDataUri", "Note")
]


def run(request: SimulationRequest, **changes: object) -> tuple[Json, list[Event]]:
    events: list[Event] = []
    result = simulate(replace(request, **changes), events.append)  # type: ignore[arg-type] # fields
    document: Json = json.loads((result.folder / "result.json").read_text())
    return document, events


def test_a_lost_machine_is_tried_again_from_the_checkpoints(request_: SimulationRequest) -> None:
    fault = "sigkill:algo-2@step=2"
    document, events = run(request_, faults=[fault])
    assert document["status"] == "Succeeded"
    assert document["steps"][0]["attempts"] == 2
    assert document["faults"][0]["fault"] == fault
    assert document["faults"][0]["after_s"] > 0
    assert any("is tried again after 60 s (0.6 s here)" in text for text in notes(events))


def test_a_second_loss_is_beyond_the_policy(request_: SimulationRequest) -> None:
    document, _ = run(request_, faults=["sigkill:algo-2@step=2", "sigkill:algo-1@step=5"] * 2)
    assert document["status"] == "Failed"
    assert document["steps"][0]["attempts"] == 2
    assert "InternalServerError" in document["failure_reason"]


STOP = ["sigterm:algo-1@step=3", "sigterm:algo-2@step=4"]


def test_a_stopped_job_stops_its_step_and_the_execution_and_can_be_resumed(
    request_: SimulationRequest,
) -> None:
    stopped, _ = run(request_, faults=STOP, parameters={"Note": "mine"})
    assert (stopped["status"], stopped["failure_reason"]) == ("Stopped", None)
    assert [step["status"] for step in stopped["steps"]] == ["Stopped"]
    resumed, events = run(request_, resume=stopped["execution_id"])
    assert resumed["status"] == "Succeeded"
    assert resumed["resumed_from"] == stopped["execution_id"]
    assert resumed["parameters"]["Note"] == "mine"
    folder = request_.state_folder / "runs" / resumed["execution_id"] / "steps/Train/hosts"
    assert "began=3\n" in (folder / "algo-1" / "log.txt").read_text()
    assert "began=4\n" in (folder / "algo-2" / "log.txt").read_text()
    assert any(f"checkpoints of {stopped['execution_id']}" in text for text in notes(events))


def test_a_run_without_checkpoints_cannot_be_resumed(request_: SimulationRequest) -> None:
    first, _ = run(request_, faults=["sigkill:algo-1/0", "sigkill:algo-2/0"])
    assert first["status"] == "Failed"
    document, _ = run(request_, resume=first["execution_id"])
    assert "that run left no checkpoints" in document["failure_reason"]


def test_only_runs_can_be_resumed(request_: SimulationRequest) -> None:
    with pytest.raises(UsageError, match=r"--resume nothing is no run .* There is none yet"):
        run(request_, resume="nothing")


def test_a_fault_that_never_happens_is_told(request_: SimulationRequest) -> None:
    document, events = run(request_, faults=["sigterm:algo-1@step=60"])
    assert document["status"] == "Succeeded"
    assert document["faults"] == [{"fault": "sigterm:algo-1@step=60", "after_s": None}]
    assert any("never happened" in text for text in notes(events))


def test_a_corrupt_object_arrives_damaged(request_: SimulationRequest, tmp_path: Path) -> None:
    document, events = run(request_, faults=["corrupt:train/part-0"])
    folder = request_.state_folder / "runs" / document["execution_id"] / "steps/Train/hosts"
    got = folder / "algo-1" / "input" / "data" / "train" / "part-0"
    assert got.read_bytes() == bytes([ord("x") ^ 0xFF])
    assert (tmp_path / "data" / "train" / "part-0").read_text() == "x"
    assert document["faults"][0]["after_s"] is not None
    assert any(isinstance(event, FaultHappened) for event in events)


def test_an_object_that_is_not_there_cannot_be_corrupt(request_: SimulationRequest) -> None:
    with pytest.raises(UsageError, match=r"there is no file .*part-7"):
        run(request_, faults=["corrupt:train/part-7"])


def test_the_wait_of_a_retry_is_scaled(request_: SimulationRequest) -> None:
    began_s = time.monotonic()
    run(request_, faults=["sigkill:algo-2"])
    assert time.monotonic() - began_s < 30
