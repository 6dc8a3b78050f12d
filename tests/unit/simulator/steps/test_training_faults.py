"""Faults, stops, interruptions and resumption of a training step, with a script for a trainer."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from evenshard.simulator import Event
from evenshard.simulator.cluster import hosts
from evenshard.simulator.cluster.faults import parse_fault
from evenshard.simulator.cluster.injection import FaultPlan
from evenshard.simulator.errors import StepFailedError, StepStoppedError
from evenshard.simulator.events import FaultHappened
from evenshard.simulator.pipeline.retries import JOB_INTERNAL_ERROR
from evenshard.simulator.steps.outcome import StepRun
from evenshard.simulator.steps.training import run_training
from tests.unit.simulator.assemblies import training_step
from tests.unit.simulator.scripts import trainer
from tests.unit.simulator.stage import Stage, notes

CHECKPOINTS = "s3://results/checkpoints/"
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


def test_hosts_that_are_all_told_and_end_well_make_a_stopped_job(
    stage: Stage, cast: Callable[[str], None]
) -> None:
    cast(trainer())
    run = run_of(stage, "sigterm:algo-1@step=3", "sigterm:algo-2@step=4")
    with pytest.raises(StepStoppedError, match="every host was told to, and ended well"):
        run_training(run)
    assert stage.store.read(f"{CHECKPOINTS}algo-1") == b"3"
    assert stage.store.read(f"{CHECKPOINTS}algo-2") == b"4"
    assert sorted(happened(stage)) == ["sigterm:algo-1@step=3", "sigterm:algo-2@step=4"]
    assert all(planned.after_s for planned in run.workspace.faults.planned)


def test_where_only_one_host_is_told_the_exit_codes_decide(
    stage: Stage, cast: Callable[[str], None]
) -> None:
    cast(trainer())
    outcome = run_training(run_of(stage, "sigterm:algo-2@step=3"))
    # Nothing in SageMaker's contract tells this job from one that ran to its end: it is the trainer
    # that must not exit with 0 on the other hosts.
    assert outcome.properties["TrainingJobStatus"] == "Completed"
    assert stage.store.read(f"{CHECKPOINTS}algo-2") == b"3"


def test_an_interrupted_spot_job_lists_its_inputs_again_and_goes_on(
    stage: Stage, cast: Callable[[str], None]
) -> None:
    cast(trainer())
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
    stage: Stage, cast: Callable[[str], None]
) -> None:
    cast(trainer())
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
    stage: Stage, cast: Callable[[str], None]
) -> None:
    cast(trainer())
    run = stage.run_of(training_step(EnableManagedSpotTraining=True))
    plan = FaultPlan.of([parse_fault("spot:algo-1@step=2")])
    run_training(replace(run, workspace=replace(stage.workspace, faults=plan)))
    assert began(stage, "algo-1") == 0
    assert any("has no CheckpointConfig" in text for text in notes(stage.events))


def test_a_spot_job_that_waits_too_long_fails(stage: Stage, cast: Callable[[str], None]) -> None:
    cast(trainer())
    condition = {"MaxRuntimeInSeconds": 60, "MaxWaitTimeInSeconds": 1}
    run = run_of(stage, "spot:algo-1@step=2", StoppingCondition=condition)
    with pytest.raises(StepFailedError, match=r"MaxWaitTimeExceeded.* MaxWaitTimeInSeconds, 1"):
        run_training(run)


def test_a_lost_machine_is_an_internal_error(stage: Stage, cast: Callable[[str], None]) -> None:
    cast(trainer())
    with pytest.raises(StepFailedError, match=r"InternalServerError.*algo-2 went away") as error:
        run_training(run_of(stage, "sigkill:algo-2@step=2"))
    assert error.value.retry_as == JOB_INTERNAL_ERROR


def test_a_killed_rank_is_an_error_of_the_job(stage: Stage, cast: Callable[[str], None]) -> None:
    cast(trainer())
    with pytest.raises(StepFailedError, match=r"AlgorithmError.*exit code: 137") as error:
        run_training(run_of(stage, "sigkill:algo-2/0@step=2"))
    assert error.value.retry_as is None


def test_a_stalled_host_that_ignores_its_signal_does_not_hide_the_reason(
    stage: Stage, cast: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosts, "_PEERS_GRACE_S", 0.2)
    cast(trainer(FAILS_ON_ALGO_1))
    with pytest.raises(StepFailedError, match="lost patience, exit code: 3"):
        run_training(run_of(stage, "stall:algo-2@step=2"))
    assert happened(stage) == ["stall:algo-2@step=2"]


def test_a_full_disk_takes_no_more_bytes(stage: Stage, cast: Callable[[str], None]) -> None:
    cast(trainer(BIG_FILE))
    with pytest.raises(StepFailedError, match="cannot save: File too large, exit code: 1"):
        run_training(run_of(stage, "disk-full:algo-2@step=6"))


def test_disks_are_not_full_without_the_fault(stage: Stage, cast: Callable[[str], None]) -> None:
    cast(trainer(BIG_FILE.replace('"big"', 'f"big-{number}"')))
    assert run_training(run_of(stage)).properties["TrainingJobStatus"] == "Completed"


def test_a_slow_host_only_takes_longer(stage: Stage, cast: Callable[[str], None]) -> None:
    cast(trainer())
    run = run_of(stage, "slow:algo-2x2")
    assert run_training(run).properties["TrainingJobStatus"] == "Completed"
    assert happened(stage) == ["slow:algo-2x2"]


def test_the_time_limit_leaves_checkpoints(stage: Stage, cast: Callable[[str], None]) -> None:
    cast(trainer("import time\nwhile not told: time.sleep(0.05)\nsave(done); sys.exit(0)"))
    run = run_of(stage, StoppingCondition={"MaxRuntimeInSeconds": 2})
    with pytest.raises(StepFailedError, match="MaxRuntimeExceeded"):
        run_training(run)
    assert stage.store.read(f"{CHECKPOINTS}algo-1") == b"6"
