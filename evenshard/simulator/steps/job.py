"""What training and processing jobs share: hosts with inputs, run to their end, judged."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from evenshard.repository import ROOT
from evenshard.simulator.cluster.containers import (
    as_in_container,
    container_environment,
    failure_text,
)
from evenshard.simulator.cluster.hosts import (
    HostCommand,
    HostExit,
    JobTimeoutError,
    OnLine,
    Watch,
    run_hosts,
)
from evenshard.simulator.cluster.inputs import JobInput, Share, counted, share_out
from evenshard.simulator.errors import StepFailedError, StepStoppedError
from evenshard.simulator.events import HostReady, JobEnded, JobStarted
from evenshard.simulator.pipeline.retries import JOB_INTERNAL_ERROR
from evenshard.simulator.result import HostRecord
from evenshard.simulator.run_folder import HOSTS_FOLDER
from evenshard.simulator.steps.outcome import Handler, Outcome, StepRun
from training.contract.failure import SECONDARY_FAILURE
from training.contract.layout import DATA_REPORT_FILE, MESSAGE_LIMIT
from training.contract.paths import ContainerPaths

DEFAULT_LIMIT_S: Final = 86_400
"""SageMaker's own MaxRuntimeInSeconds, where a job sets none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job as all its hosts see it."""

    name: str
    hosts: Sequence[str]
    inputs: Sequence[JobInput]
    command: Sequence[str]
    environment: Mapping[str, str]
    """The job's own variables and the platform's."""
    limit_s: int
    lay: Callable[[ContainerPaths, str, Sequence[Share]], None]
    """Writes one host's configuration and inputs below its base folder."""
    failure_file: Callable[[ContainerPaths], Path]
    """Where a container says why it failed."""
    watch: Watch = lambda _hosts: None
    """Looks at the hosts while they run."""
    elapsed_s: float = 0.0
    """Of the limit: what it had run before it was interrupted."""


def reported(kind: str, handler: Handler) -> Handler:
    """A handler of steps that run a job, with the job's begin and end reported.

    Args:
        kind: `training-job` or `processing-job`, as ARNs have it.
        handler: runs the job.
    """

    def run_reported(run: StepRun) -> Outcome:
        workspace, step = run.workspace, run.step.name
        name = workspace.job_name(run.step, run.record.attempts)
        workspace.report(
            JobStarted(step=step, name=name, arn=job_arn(run, kind, name), request=run.arguments)
        )
        status, reason = "Failed", None
        properties: Mapping[str, Any] = {}
        try:
            outcome = handler(run)
            status, properties = "Completed", outcome.properties
        except (StepStoppedError, KeyboardInterrupt):
            status = "Stopped"
            raise
        except Exception as error:
            reason = str(error)
            raise
        finally:
            workspace.report(
                JobEnded(
                    step=step,
                    name=name,
                    status=status,
                    failure_reason=reason,
                    properties=properties,
                )
            )
        return outcome

    return run_reported


def job_arn(run: StepRun, kind: str, name: str) -> str:
    """The ARN of a job; ARNs carry the name in lower case. Source: docs/facts.md 4."""
    return run.workspace.place.arn("sagemaker", f"{kind}/{name.lower()}")


def lay_hosts(run: StepRun, job: Job) -> dict[str, ContainerPaths]:
    """Give every host its folder, with its configuration and inputs.

    What an earlier attempt left is set aside: hosts are new machines every time.

    Returns:
        Host -> its folders.

    Raises:
        StepFailedError: data is missing.
    """
    workspace, restarts = run.workspace, run.record.interruptions
    shares = [
        share_out(job_input, job.hosts, workspace.store, workspace.assignment, restarts)
        for job_input in job.inputs
    ]
    folder = workspace.step_folder(run.step).resolve()
    _set_aside(folder)
    run.record.hosts.clear()
    places = {host: ContainerPaths(folder / HOSTS_FOLDER / host) for host in job.hosts}
    for host, paths in places.items():
        paths.base_dir.mkdir(parents=True)
        job.lay(paths, host, shares)
        objects, size_bytes = counted(shares, host)
        run.record.hosts.append(HostRecord(name=host, objects=objects, bytes=size_bytes))
        workspace.report(
            HostReady(step=run.step.name, host=host, objects=objects, bytes=size_bytes)
        )
    return places


def run_job(
    run: StepRun, job: Job, places: Mapping[str, ContainerPaths], on_line: OnLine
) -> list[HostExit]:
    """Run a job on all its hosts, to their end.

    Raises:
        StepFailedError: the time limit passed.
    """
    try:
        return run_hosts(
            _commands(run, job, places),
            lambda host, line: on_line(host, as_in_container(line, places[host].base_dir)),
            limit_s=job.limit_s - job.elapsed_s,
            grace_s=run.workspace.grace_s,
            interrupt_grace_s=run.workspace.interrupt_grace_s,
            watch=job.watch,
        )
    except JobTimeoutError as error:
        raise StepFailedError(
            "MaxRuntimeExceeded: the job ran longer than its MaxRuntimeInSeconds, "
            f"{job.limit_s}. Raise it, or give the job less to do."
        ) from error
    finally:
        for used in run.record.hosts:
            used.records = _records(places[used.name], used.name)


def _set_aside(folder: Path) -> None:
    """Move the hosts of the attempt before to `hosts-1`, `hosts-2`, ..."""
    hosts = folder / HOSTS_FOLDER
    if hosts.exists():
        number = sum(1 for _ in folder.glob(f"{HOSTS_FOLDER}-*")) + 1
        hosts.rename(folder / f"{HOSTS_FOLDER}-{number}")


def _commands(run: StepRun, job: Job, places: Mapping[str, ContainerPaths]) -> list[HostCommand]:
    return [
        HostCommand(
            host=host,
            base_dir=paths.base_dir,
            arguments=job.command,
            environment=container_environment(
                paths.base_dir,
                {"AWS_REGION": run.workspace.place.region, **job.environment},
                run.workspace.devices_per_host,
            ),
            working_directory=ROOT,
        )
        for host, paths in places.items()
    ]


def judge(exits: Sequence[HostExit], job: Job, places: Mapping[str, ContainerPaths]) -> None:
    """Decide what the hosts' ends make of the job.

    Raises:
        StepFailedError: with the reason of the host that caused the failure, not of one that felt
            it.
        StepStoppedError: every host was told to stop and ended well.
    """
    lost = [host_exit.host for host_exit in exits if host_exit.lost]
    if lost:
        raise StepFailedError(
            "InternalServerError: We encountered an internal error. Please try again. (The machine "
            f"of {' and '.join(lost)} went away.)",
            retry_as=JOB_INTERNAL_ERROR,
        )
    failed = [host_exit for host_exit in exits if host_exit.return_code != 0]
    if not failed:
        if exits and all(host_exit.told for host_exit in exits):
            raise StepStoppedError(
                f"{job.name} was stopped: every host was told to, and ended well."
            )
        return
    reasons = {
        host_exit.host: failure_text(
            places[host_exit.host].base_dir,
            job.failure_file(places[host_exit.host]),
            MESSAGE_LIMIT,
        )
        for host_exit in failed
    }

    def is_consequence(host_exit: HostExit) -> bool:
        return host_exit.stopped or reasons[host_exit.host].startswith(SECONDARY_FAILURE)

    cause = min(failed, key=is_consequence)
    code = cause.return_code if cause.return_code > 0 else 128 - cause.return_code
    # SageMaker puts the code behind whatever the container wrote.
    reason = reasons[cause.host].rstrip(".")
    raise StepFailedError(f"AlgorithmError: {reason}, exit code: {code}")


def _records(paths: ContainerPaths, host: str) -> int | None:
    """What a host says that it trained on; None if it says nothing that can be read."""
    file = paths.output_data_dir / host / DATA_REPORT_FILE
    try:
        records = json.loads(file.read_text(encoding="utf-8"))["records"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return records if isinstance(records, int) else None
