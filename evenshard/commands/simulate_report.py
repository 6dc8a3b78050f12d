"""What `evenshard simulate` prints: plain lines while it runs, then the hosts and the model."""

from evenshard.output import say, say_table
from evenshard.simulator import Event, Result, Status
from evenshard.simulator.cluster.hosts import LOG_FILE
from evenshard.simulator.events import (
    ConditionEvaluated,
    FaultHappened,
    HostReady,
    JobEnded,
    JobStarted,
    MetricsSeen,
    Noted,
    RunStarted,
    StepEnded,
    StepStarted,
)
from evenshard.simulator.result import StepRecord
from evenshard.simulator.run_folder import HOSTS_FOLDER

_Shown = (
    RunStarted
    | StepStarted
    | HostReady
    | MetricsSeen
    | ConditionEvaluated
    | FaultHappened
    | Noted
    | StepEnded
)


class ProgressPrinter:
    """Prints events as they come."""

    def report(self, event: Event) -> None:
        """Print one event; lines are flushed, so that a pipe sees them as they come."""
        if not isinstance(event, JobStarted | JobEnded):  # they say no more than their steps
            say(_line(event))


def _line(event: _Shown) -> str:  # noqa: PLR0911 - one return per kind of event
    match event:
        case RunStarted():
            given = (f"\n  {name}={value}" for name, value in event.parameters.items())
            return f"Pipeline {event.pipeline}, execution {event.execution_id}{''.join(given)}"
        case StepStarted():
            return f"{event.name} ({event.type}) ..."
        case HostReady():
            return f"  {event.host}: {_objects(event.objects)}, {event.bytes:,} bytes"
        case MetricsSeen():
            return f"  {event.line}"
        case ConditionEvaluated():
            return f"  {event.comparison}: {'true' if event.outcome else 'false'}"
        case FaultHappened():
            return f"  --fault {event.fault}"
        case Noted():
            return event.text
        case StepEnded():
            # Why it failed is the last word of the run: see print_result.
            return f"{event.name} {event.status} after {event.seconds:.1f} s"


def print_result(result: Result) -> None:
    """Print what a run came to: who read what, and where the model is."""
    say(f"\nExecution {result.execution_id} {result.status.value}")
    for step in result.steps:
        if len(step.hosts) > 1 or any(host.records is not None for host in step.hosts):
            _print_hosts(step)
    package = result.model_package
    if package is not None:
        say(
            f"\nModel package {package.group}, version {package.version} "
            f"({package.approval_status})\n"
            f"  model_data {package.model_data}"
        )
        if result.model_file is not None:
            say(f"  on this machine {result.model_file}")
    for step in result.steps:
        if step.status is Status.FAILED and step.hosts:
            logs = result.folder / "steps" / step.name / HOSTS_FOLDER / "algo-*" / LOG_FILE
            say(f"\nWhat the hosts of {step.name} printed: {logs}")
    say(f"\nEverything it left: {result.folder}/")
    if result.status is Status.STOPPED:
        say(f"To go on from the checkpoints of this run: --resume {result.execution_id}")
    if result.status is Status.FAILED:
        say(f"Error: {result.failure_reason}", error=True)


def _print_hosts(step: StepRecord) -> None:
    rows = [
        (host.name, f"{host.objects:,}", f"{host.bytes:,}", _records(host.records))
        for host in step.hosts
    ]
    known = [host.records for host in step.hosts if host.records is not None]
    total = (
        "all",
        f"{sum(host.objects for host in step.hosts):,}",
        f"{sum(host.bytes for host in step.hosts):,}",
        _records(sum(known) if len(known) == len(step.hosts) else None),
    )
    say(f"\nWhat the hosts of {step.name} read")
    say_table((("host", "objects", "bytes", "records"), *rows, total))


def _objects(count: int) -> str:
    return "1 object" if count == 1 else f"{count} objects"


def _records(count: int | None) -> str:
    return "?" if count is None else f"{count:,}"
