"""Training steps: N hosts, each with its part of the sharded channels. Source: docs/facts.md 4.

A spot job whose instance is reclaimed starts again within the step: its inputs are listed and laid
anew, perhaps on other hosts, and its checkpoints are restored.
"""

import json
import time
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, Final

from evenshard.simulator.cluster.containers import container_command
from evenshard.simulator.cluster.faults import Fault, FaultKind
from evenshard.simulator.cluster.hosts import HostExit, RunningHosts, Watch
from evenshard.simulator.cluster.injection import Injector
from evenshard.simulator.cluster.network import free_ports
from evenshard.simulator.errors import DefinitionError, StepFailedError
from evenshard.simulator.events import FaultHappened, Noted
from evenshard.simulator.steps.job import DEFAULT_LIMIT_S, Job, job_arn, judge, lay_hosts, run_job
from evenshard.simulator.steps.metric_lines import MetricReader
from evenshard.simulator.steps.outcome import Outcome, StepRun
from evenshard.simulator.steps.training_artifacts import store_artifacts
from evenshard.simulator.steps.training_host import channels, fast_channels, lay_host
from evenshard.simulator.storage.objects import join_uri
from evenshard.simulator.storage.synced_folder import SyncedFolder
from training.contract.layout import (
    BREAKPOINTS_VARIABLE,
    BULLETIN_VARIABLE,
    DEFAULT_BASE_DIR,
    PEERS_VARIABLE,
)
from training.contract.paths import ContainerPaths
from training.shards.assignment import host_names

TRAINING_JOB: Final = "training-job"
_CHECKPOINTS_PATH: Final = f"{DEFAULT_BASE_DIR}/checkpoints"
_TENSORBOARD_PATH: Final = f"{DEFAULT_BASE_DIR}/output/tensorboard"
"""SageMaker's own LocalPath, where a definition gives none."""


def run_training(run: StepRun) -> Outcome:
    """Run a training job.

    Raises:
        StepFailedError: data is missing, a host failed, or two hosts wrote one model file.
        StepStoppedError: all hosts were told to stop, and did.
    """
    _note_what_differs(run)
    began_s = time.monotonic()
    metrics = MetricReader(run)
    while True:
        attempt = _Attempt(run, elapsed_s=time.monotonic() - began_s)
        exits = attempt.run(metrics)
        if not attempt.injector.interrupted:
            break
        run.record.interruptions += 1
        _check_wait(run, time.monotonic() - began_s)
    judge(exits, attempt.job, attempt.places)
    model_uri = store_artifacts(run, attempt.job, attempt.places)
    return Outcome(
        properties={
            **run.arguments,
            "TrainingJobName": attempt.job.name,
            "TrainingJobArn": attempt.job.environment["TRAINING_JOB_ARN"],
            "TrainingJobStatus": "Completed",
            "ModelArtifacts": {"S3ModelArtifacts": model_uri},
        }
    )


class _Attempt:
    """The hosts of a job from their start to their end, or to the loss of a spot instance."""

    def __init__(self, run: StepRun, *, elapsed_s: float) -> None:
        self._run = run
        number = f"{run.record.attempts}-{run.record.interruptions}"
        self.injector = Injector(
            run.workspace.faults,
            run.workspace.step_folder(run.step).resolve() / "breakpoints" / number,
            devices_per_host=run.workspace.devices_per_host,
            report=self._tell,
        )
        variable = self.injector.variable()
        faults = {BREAKPOINTS_VARIABLE: variable} if variable is not None else {}
        self.job = _training_job(run, elapsed_s, self._watch, faults)
        self.places = lay_hosts(run, self.job)
        self._synced = _synced_folders(run, self.job, self.places)

    def run(self, metrics: MetricReader) -> list[HostExit]:
        """Run all hosts to their end; what they left is in the store then."""
        lost: list[str] = []
        try:
            exits = run_job(self._run, self.job, self.places, metrics.read)
            lost = [host_exit.host for host_exit in exits if host_exit.lost]
        finally:
            for folder in self._synced:
                folder.sweep(lost=lost)
        return exits

    def _watch(self, hosts: RunningHosts) -> None:
        self.injector.watch(hosts)
        for folder in self._synced:
            folder.look(lost=hosts.lost())

    def _tell(self, fault: Fault) -> None:
        self._run.workspace.report(FaultHappened(step=self._run.step.name, fault=fault.text))


def _note_what_differs(run: StepRun) -> None:
    report = run.workspace.report
    spot = run.arguments.get("EnableManagedSpotTraining", False)
    kinds = {planned.fault.kind for planned in run.workspace.faults.open()}
    if FaultKind.SPOT in kinds and not spot:
        text = "uses no spot instances: on SageMaker nothing would interrupt it like this."
        report(Noted(text=f"{run.step.name} {text}"))
    fast = fast_channels(run)
    if fast:
        text = f"{' and '.join(fast)}: FastFile is simulated by copies; nothing is streamed."
        report(Noted(text=text))


def _check_wait(run: StepRun, elapsed_s: float) -> None:
    limit_s = run.arguments["StoppingCondition"].get("MaxWaitTimeInSeconds")
    if limit_s is not None and elapsed_s > limit_s:
        raise StepFailedError(
            f"MaxWaitTimeExceeded: with its interruptions the job took longer than its "
            f"MaxWaitTimeInSeconds, {limit_s}. Raise it."
        )
    text = f"{run.step.name} was interrupted; it starts again from its checkpoints."
    if "CheckpointConfig" not in run.arguments:
        text = f"{run.step.name} was interrupted and has no CheckpointConfig: it starts all over."
    run.workspace.report(Noted(text=text))


def _synced_folders(
    run: StepRun, job: Job, places: Mapping[str, ContainerPaths]
) -> list[SyncedFolder]:
    store = run.workspace.store
    synced = []
    checkpoints = run.arguments.get("CheckpointConfig")
    if checkpoints is not None:
        folders = _folders(run, checkpoints, _CHECKPOINTS_PATH, places)
        synced.append(SyncedFolder(store, checkpoints["S3Uri"], folders, deletes=True))
        _bring_former_checkpoints(run, checkpoints["S3Uri"])
        synced[0].restore()
    tensorboard = run.arguments.get("TensorBoardOutputConfig")
    if tensorboard is not None:
        folders = _folders(run, tensorboard, _TENSORBOARD_PATH, places)
        uri = join_uri(tensorboard["S3OutputPath"], f"{job.name}/tensorboard-output")
        synced.append(SyncedFolder(store, uri, folders, deletes=False))
    return synced


def _folders(
    run: StepRun,
    config: Mapping[str, Any],
    default: str,
    places: Mapping[str, ContainerPaths],
) -> dict[str, Any]:
    place = PurePosixPath(config.get("LocalPath", default))
    if not place.is_relative_to(DEFAULT_BASE_DIR) or ".." in place.parts:
        raise DefinitionError(
            run.path, f"LocalPath {place} is not below {DEFAULT_BASE_DIR}/. Put it there."
        )
    below = place.relative_to(DEFAULT_BASE_DIR)
    return {host: paths.base_dir / below for host, paths in places.items()}


def _bring_former_checkpoints(run: StepRun, uri: str) -> None:
    """Copy the checkpoints of the run that --resume names, once."""
    former = run.workspace.former
    if former is None or run.record.attempts > 1 or run.record.interruptions:
        return
    count = former.copy_checkpoints(uri, run.workspace.execution_id, run.workspace.store)
    if count == 0:
        raise StepFailedError(
            f"--resume {former.execution_id}: that run left no checkpoints. Start anew without it."
        )
    text = f"{run.step.name} goes on from the checkpoints of {former.execution_id}."
    if former.succeeded:
        text += " That one succeeded: without more epochs there is nothing left to train."
    run.workspace.report(Noted(text=text))


def _training_job(run: StepRun, elapsed_s: float, watch: Watch, faults: Mapping[str, str]) -> Job:
    arguments = run.arguments
    name = run.workspace.job_name(run.step, run.record.attempts)
    hosts = host_names(arguments["ResourceConfig"]["InstanceCount"])
    devices = run.workspace.devices_per_host
    ports = iter(free_ports(1 + len(hosts) * devices))
    peers = {host: [f"127.0.0.1:{next(ports)}" for _ in range(devices)] for host in hosts}
    specification = arguments["AlgorithmSpecification"]
    return Job(
        name=name,
        hosts=hosts,
        inputs=channels(run),
        command=container_command(specification, f"{run.path}.AlgorithmSpecification"),
        environment={
            **arguments.get("Environment", {}),
            "TRAINING_JOB_NAME": name,
            "TRAINING_JOB_ARN": job_arn(run, TRAINING_JOB, name),
            PEERS_VARIABLE: json.dumps(peers),
            BULLETIN_VARIABLE: f"127.0.0.1:{next(ports)}",
            **faults,
        },
        limit_s=arguments["StoppingCondition"].get("MaxRuntimeInSeconds", DEFAULT_LIMIT_S),
        elapsed_s=elapsed_s,
        lay=lambda paths, host, shares: lay_host(run, paths, host, shares),
        failure_file=lambda paths: paths.failure_file,
        watch=watch,
    )
