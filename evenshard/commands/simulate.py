"""`evenshard simulate`: run the synthesized pipeline on simulated hosts."""

from collections.abc import Sequence
from typing import Annotated

import typer

from evenshard import simulator
from evenshard.commands import options
from evenshard.commands.simulate_report import ProgressPrinter, print_result
from evenshard.errors import ExitCode, UsageError
from evenshard.output import say
from evenshard.s3_folder import folder_or_s3
from evenshard.simulator import Event, Result, SimulationRequest, Status
from training.contract.layout import PYTORCH

_EXIT_CODES = {Status.SUCCEEDED: ExitCode.DONE, Status.STOPPED: ExitCode.INTERRUPTED}


def simulate(  # noqa: PLR0913 - one argument per option
    *,
    framework: options.Framework = PYTORCH,
    data: options.Data,
    hosts: options.Hosts = None,
    devices_per_host: options.DevicesPerHost = 1,
    param: options.Parameters = None,
    assignment: options.Assignment = "round-robin",
    fault: options.Faults = None,
    resume: options.Resume = None,
    assembly: options.AssemblyFolder = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Run the whole pipeline on this machine. Every host is a process tree with its shards only."""
    request = SimulationRequest(
        framework=framework,
        data=folder_or_s3(data, option="--data"),
        hosts=hosts,
        devices_per_host=devices_per_host,
        parameters=_parameters(param or []),
        assignment=assignment,
        faults=fault or [],
        resume=resume,
        assembly=assembly,
    )
    result = _run(request, as_json=as_json)
    return _EXIT_CODES.get(result.status, ExitCode.FAILED)


def _run(request: SimulationRequest, *, as_json: bool) -> Result:
    if as_json:
        result = simulator.simulate(request, _ignore)
        say(result.text().removesuffix("\n"))
    else:
        result = simulator.simulate(request, ProgressPrinter().report)
        print_result(result)
    return result


def _ignore(_event: Event) -> None:
    """With --json nothing but the result is printed."""


def _parameters(pairs: Sequence[str]) -> dict[str, str]:
    parameters: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"--param {pair} is not NAME=VALUE. Write, say, --param Epochs=3.")
        if parameters.setdefault(name, value) != value:
            raise UsageError(
                f"--param {name} is given as {parameters[name]} and as {value}. Give it once."
            )
    return parameters
