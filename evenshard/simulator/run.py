"""One execution: from the request to result.json."""

import secrets
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from evenshard.errors import RefusedError, UsageError
from evenshard.simulator.assembly import Assembly, Pipeline, synthesize
from evenshard.simulator.assignment import ROUND_ROBIN, Assignment, parse_assignment
from evenshard.simulator.definition import Definition, read_definition
from evenshard.simulator.errors import DefinitionError, internal_failure
from evenshard.simulator.events import Noted, Report, RunStarted
from evenshard.simulator.execution import Execution
from evenshard.simulator.limits import MOST_HOSTS
from evenshard.simulator.objects import LocalObjectStore
from evenshard.simulator.parameters import merge_given, settle
from evenshard.simulator.registry import Registry
from evenshard.simulator.resources import ACCOUNT, PARTITION, REGION
from evenshard.simulator.result import Result, Status
from evenshard.simulator.signals import Interruptions
from evenshard.simulator.workspace import Workspace

STATE_FOLDER: Final = Path(".evenshard")
DATA_BUCKET: Final = "evenshard-data"
"""The bucket that --data is mounted as."""
_DATA_PARAMETERS: Final = {
    "TrainDataUri": "train",
    "ValidationDataUri": "validation",
    "TestDataUri": "test",
}
_HOSTS_PARAMETER: Final = "InstanceCount"
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationRequest:
    """What to simulate."""

    framework: str
    """The pipeline's name ends in it."""
    data: Path
    """A folder with train/, validation/ and test/."""
    hosts: int | None = None
    """InstanceCount; None leaves it to the parameters."""
    devices_per_host: int = 1
    """Training processes of one host, 1 or more."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Pipeline parameters as the command line gives them."""
    assignment: str = ROUND_ROBIN
    assembly: Path | None = None
    """A synthesized cloud assembly; None synthesizes afresh."""
    state_folder: Path = STATE_FOLDER
    """Holds runs/ and registry/."""


def simulate(request: SimulationRequest, report: Report) -> Result:
    """Run the pipeline of one framework on simulated hosts.

    A run that fails is a result and no exception, and so is one that SIGINT or SIGTERM stops.

    Raises:
        UsageError: the request makes no sense; no run folder is left.
        RefusedError: the CDK app cannot be synthesized; no run folder is left.
        Exception: a fault of this program; result.json says Failed all the same.
    """
    assignment = parse_assignment(request.assignment)
    given = _given_parameters(request)
    execution_id, folder = _new_run(request.state_folder / "runs")
    result = Result(execution_id=execution_id, pipeline="", folder=folder)
    with Interruptions() as interruptions:
        try:
            _run(request, given, assignment, result, report)
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


def _given_parameters(request: SimulationRequest) -> dict[str, str]:
    if not request.data.is_dir():
        raise UsageError(
            f"--data {request.data} is not a folder. Name one with train/, validation/ and test/; "
            "`evenshard data DEST` writes such a folder."
        )
    hosts = {} if request.hosts is None else {_HOSTS_PARAMETER: str(request.hosts)}
    data = {name: f"s3://{DATA_BUCKET}/{folder}/" for name, folder in _DATA_PARAMETERS.items()}
    # --data says where the data lies unless a parameter says so itself.
    return data | merge_given(hosts, request.parameters)


def _run(
    request: SimulationRequest,
    given: Mapping[str, str],
    assignment: Assignment,
    result: Result,
    report: Report,
) -> None:
    assembly, pipeline = _find_pipeline(request, result.folder, report)
    result.pipeline = pipeline.name
    (result.folder / "definition.json").write_text(pipeline.body, encoding="utf-8")
    definition = read_definition(pipeline.body)
    result.parameters = settle(definition.parameters, given)
    _check_host_count(result.parameters.get(_HOSTS_PARAMETER))
    report(
        RunStarted(
            execution_id=result.execution_id,
            pipeline=pipeline.name,
            folder=result.folder,
            parameters=result.parameters,
        )
    )
    if assignment.label != request.assignment:
        report(Noted(text=f"The draw is --assignment {assignment.label}."))
    workspace = Workspace(
        assembly=assembly,
        store=LocalObjectStore(result.folder / "objects", {DATA_BUCKET: request.data}),
        registry=Registry(request.state_folder / "registry"),
        folder=result.folder,
        execution_id=result.execution_id,
        devices_per_host=request.devices_per_host,
        assignment=assignment,
        report=report,
    )
    _execute(definition, workspace, result)


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


def _new_run(runs: Path) -> tuple[str, Path]:
    """Make the folder of a new run. Its id: 12 letters and digits that sort by time.

    Raises:
        UsageError: it cannot be made.
    """
    try:
        runs.mkdir(parents=True, exist_ok=True)
        while True:
            execution_id = _base36(time.time_ns() // 1000, 10)
            execution_id += _base36(secrets.randbelow(36**2), 2)
            folder = runs / execution_id
            with suppress(FileExistsError):
                folder.mkdir()
                return execution_id, folder
    except OSError as error:
        raise UsageError(
            f"the run's folder cannot be made below {runs}/: {error.strerror}. Run this command in "
            f"a folder that you may write to, and in which {runs.parts[0]} is no file."
        ) from error


def _base36(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, len(_DIGITS))
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits))
