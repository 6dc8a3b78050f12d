"""One execution: from the request to result.json."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from evenshard.errors import RefusedError, UsageError
from evenshard.simulator.cluster.assignment import ROUND_ROBIN, Assignment, parse_assignment
from evenshard.simulator.cluster.faults import FaultKind, check_targets, parse_fault
from evenshard.simulator.cluster.hosts import STOP_GRACE_S
from evenshard.simulator.cluster.injection import FaultPlan, PlannedFault
from evenshard.simulator.deployment.assembly import Assembly, Pipeline, synthesize
from evenshard.simulator.deployment.registry import Registry
from evenshard.simulator.deployment.resources import ACCOUNT, PARTITION, REGION
from evenshard.simulator.errors import DefinitionError, internal_failure
from evenshard.simulator.events import FaultHappened, Noted, Report, RunStarted
from evenshard.simulator.execution import Execution
from evenshard.simulator.former import FormerRun, find_former
from evenshard.simulator.limits import MOST_HOSTS
from evenshard.simulator.pipeline.definition import Definition, read_definition
from evenshard.simulator.pipeline.parameters import merge_given, settle
from evenshard.simulator.result import Result, Status
from evenshard.simulator.run_folder import DEFINITION_FILE, RUNS_FOLDER, STATE_FOLDER, new_run
from evenshard.simulator.signals import Interruptions
from evenshard.simulator.storage.damage import DamagingStore
from evenshard.simulator.storage.data import (
    Data,
    corrupt_uri,
    data_parameters,
    open_data,
    without_data,
)
from evenshard.simulator.storage.objects import ObjectStore
from evenshard.simulator.workspace import Workspace
from training.shards.location import Location

_HOSTS_PARAMETER: Final = "InstanceCount"


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationRequest:
    """What to simulate."""

    framework: str
    """The pipeline's name ends in it."""
    data: Path | Location
    """A folder, or an S3 folder, with train/, validation/ and test/."""
    hosts: int | None = None
    """InstanceCount; None leaves it to the parameters."""
    devices_per_host: int = 1
    """Training processes of one host, 1 or more."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Pipeline parameters as the command line gives them."""
    assignment: str = ROUND_ROBIN
    assembly: Path | None = None
    """A synthesized cloud assembly; None synthesizes afresh."""
    faults: Sequence[str] = ()
    """What is to go wrong, as --fault names it."""
    resume: str | None = None
    """The execution whose checkpoints this one goes on from; its parameters are the defaults."""
    grace_s: float = STOP_GRACE_S
    """Between SIGTERM and SIGKILL; SageMaker's own unless a test has no time."""
    state_folder: Path = STATE_FOLDER
    """Holds runs/ and registry/."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """A request whose options make sense."""

    request: SimulationRequest
    given: Mapping[str, str]
    """Parameters, before the definition has its say."""
    assignment: Assignment
    faults: FaultPlan
    former: FormerRun | None
    data: Data


def simulate(request: SimulationRequest, report: Report) -> Result:
    """Run the pipeline of one framework on simulated hosts.

    A run that fails is a result and no exception, and so is one that SIGINT or SIGTERM stops.

    Raises:
        UsageError: the request makes no sense; no run folder is left.
        RefusedError: the CDK app cannot be synthesized, or S3 not be asked; no run folder is left.
        Exception: a fault of this program; result.json says Failed all the same.
    """
    plan = _plan(request)
    execution_id, folder = new_run(request.state_folder / RUNS_FOLDER)
    result = Result(execution_id=execution_id, pipeline="", folder=folder, faults=plan.faults)
    result.resumed_from = plan.former.execution_id if plan.former else None
    with Interruptions() as interruptions:
        try:
            _run(plan, result, report)
        except DefinitionError as error:
            result.status = Status.FAILED
            result.failure_reason = f"ValidationException: {error}"
        except KeyboardInterrupt:
            result.stop()
        except (UsageError, RefusedError):
            shutil.rmtree(folder)
            raise
        except Exception as error:
            interruptions.ignore()
            result.fail(internal_failure(error))
            with suppress(OSError):  # of a full disk, the first error says more
                error.add_note(f"What the run left: {result.write()}")
            raise
        interruptions.ignore()
        result.write()
    return result


def _plan(request: SimulationRequest) -> _Plan:
    data = open_data(request.data)
    runs = request.state_folder / RUNS_FOLDER
    former = None if request.resume is None else find_former(runs, request.resume)
    return _Plan(
        request=request,
        given=_given_parameters(request, data, former),
        assignment=parse_assignment(request.assignment),
        faults=FaultPlan.of([parse_fault(text) for text in request.faults]),
        former=former,
        data=data,
    )


def _given_parameters(
    request: SimulationRequest, data: Data, former: FormerRun | None
) -> dict[str, str]:
    hosts = {} if request.hosts is None else {_HOSTS_PARAMETER: str(request.hosts)}
    inherited = without_data(former.given_parameters()) if former else {}
    # --data says where the data lies unless a parameter says so itself.
    return data_parameters(data) | inherited | merge_given(hosts, request.parameters)


def _run(plan: _Plan, result: Result, report: Report) -> None:
    request = plan.request
    assembly, pipeline = _find_pipeline(request, result.folder, report)
    result.pipeline = pipeline.name
    (result.folder / DEFINITION_FILE).write_text(pipeline.body, encoding="utf-8")
    definition = read_definition(pipeline.body)
    result.parameters = settle(definition.parameters, plan.given)
    _check_host_count(result.parameters.get(_HOSTS_PARAMETER))
    _check_faults(plan, result.parameters.get(_HOSTS_PARAMETER))
    _check_checkpoints(plan, definition)
    report(
        RunStarted(
            execution_id=result.execution_id,
            pipeline=pipeline.name,
            folder=result.folder,
            parameters=result.parameters,
        )
    )
    if (place := plan.data.place()) is not None:
        report(Noted(text=place))
    if plan.assignment.label != request.assignment:
        report(Noted(text=f"The draw is --assignment {plan.assignment.label}."))
    workspace = Workspace(
        functions=assembly,
        store=_store(plan, result, report),
        registry=Registry(request.state_folder / "registry"),
        folder=result.folder,
        execution_id=result.execution_id,
        devices_per_host=request.devices_per_host,
        assignment=plan.assignment,
        report=report,
        faults=plan.faults,
        former=plan.former,
        grace_s=request.grace_s,
    )
    try:
        _execute(definition, workspace, result)
    finally:
        for planned in plan.faults.open():
            report(Noted(text=f"--fault {planned.fault.text} never happened: nothing got there."))


def _store(plan: _Plan, result: Result, report: Report) -> ObjectStore:
    """The store of a run; what --fault corrupt names arrives damaged from it."""

    def happens(planned: PlannedFault) -> Callable[[], None]:
        def note() -> None:
            if planned.after_s is None:
                report(FaultHappened(step="", fault=planned.fault.text))
            plan.faults.happened(planned)

        return note

    damaged = {
        corrupt_uri(plan.data, planned.fault.key): happens(planned)
        for planned in plan.faults.planned
        if planned.fault.kind is FaultKind.CORRUPT
    }
    return DamagingStore(plan.data.store(result.folder / "objects", result.parameters), damaged)


def _check_faults(plan: _Plan, hosts: object) -> None:
    """Refuse faults of hosts, ranks and files that are not there."""
    faults = [planned.fault for planned in plan.faults.planned]
    if isinstance(hosts, int):
        check_targets(faults, hosts=hosts, devices_per_host=plan.request.devices_per_host)
    for fault in faults:
        below = fault.kind is FaultKind.CORRUPT and "://" not in fault.key
        missing = plan.data.missing(fault.key) if below else None
        if missing is not None:
            raise UsageError(
                f"--fault {fault.text}: {missing}. Name one below --data, for "
                "example corrupt:train/part-00003.jsonl, or an s3:// URI."
            )


def _check_checkpoints(plan: _Plan, definition: Definition) -> None:
    if plan.former is None:
        return
    if not any("CheckpointConfig" in step.arguments for step in definition.steps):
        raise UsageError(
            f"--resume {plan.former.execution_id}: no step of the pipeline has a CheckpointConfig, "
            "so no run leaves checkpoints. Start anew without --resume."
        )


def _check_host_count(given: object) -> None:
    """Refuse at once what the Training step would refuse after all steps before it."""
    if isinstance(given, int) and given > MOST_HOSTS:
        raise UsageError(
            f"{_HOSTS_PARAMETER} is {given}: at most {MOST_HOSTS} hosts are simulated on one "
            f"machine, for each is a process tree of its own. Set it to {MOST_HOSTS} or less."
        )


def _execute(definition: Definition, workspace: Workspace, result: Result) -> None:
    pipeline_arn = (
        f"arn:{PARTITION}:sagemaker:{REGION}:{ACCOUNT}:pipeline/{result.pipeline.lower()}"
    )
    now = datetime.now(UTC).isoformat(timespec="seconds")
    variables = {
        "CurrentDateTime": now,
        "PipelineArn": pipeline_arn,
        "PipelineExecutionArn": f"{pipeline_arn}/execution/{result.execution_id}",
        "PipelineExecutionId": result.execution_id,
        "PipelineName": result.pipeline,
        "StartDateTime": now,
    }
    Execution(definition, workspace, result, variables).run()


def _find_pipeline(
    request: SimulationRequest, folder: Path, report: Report
) -> tuple[Assembly, Pipeline]:
    if request.assembly is not None:
        assembly = Assembly(request.assembly)
    else:
        report(Noted(text="Synthesizing the CDK app ..."))
        assembly = synthesize(folder / "assembly")
    return assembly, assembly.pipeline(request.framework)
