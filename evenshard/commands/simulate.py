"""`evenshard simulate`: run the synthesized pipeline on simulated hosts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from evenshard import simulator
from evenshard.commands.numbers import whole_number
from evenshard.commands.simulate_report import ProgressPrinter, print_result
from evenshard.errors import ExitCode, UsageError
from evenshard.output import say
from evenshard.s3_folder import s3_folder
from evenshard.simulator import Event, Result, SimulationRequest, Status
from evenshard.simulator.limits import MOST_DEVICES_PER_HOST, MOST_HOSTS
from training.contract.layout import FRAMEWORKS, PYTORCH

_EXIT_CODES = {Status.SUCCEEDED: ExitCode.DONE, Status.STOPPED: ExitCode.INTERRUPTED}


def simulate(  # noqa: PLR0913 - one argument per option
    *,
    framework: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help=f"The assembly's pipeline whose name ends in -NAME: {' or '.join(FRAMEWORKS)}.",
        ),
    ] = PYTORCH,
    data: Annotated[
        str,
        typer.Option(
            metavar="DIR|s3://...",
            help="Folder, of this machine or of S3, with train/, validation/, test/ "
            "(`evenshard data` writes one).",
        ),
    ],
    hosts: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=whole_number("--hosts", least=1, most=MOST_HOSTS),
            help=f"Training hosts, 1 to {MOST_HOSTS}; the same as --param InstanceCount=N.",
        ),
    ] = None,
    devices_per_host: Annotated[
        int,
        typer.Option(
            metavar="N",
            parser=whole_number("--devices-per-host", least=1, most=MOST_DEVICES_PER_HOST),
            help=f"Training processes of each host, 1 to {MOST_DEVICES_PER_HOST}.",
        ),
    ] = 1,
    param: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A pipeline parameter. May be repeated."),
    ] = None,
    assignment: Annotated[
        str,
        typer.Option(
            metavar="RULE",
            help="How objects are dealt out to hosts: round-robin, contiguous, single-host or "
            "random[:SEED].",
        ),
    ] = "round-robin",
    fault: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND:TARGET[@MOMENT]",
            help="What goes wrong, and when: sigterm:algo-2@step=30, sigkill:algo-1/1@step=20, "
            "stall:algo-2@saving, slow:algo-2x3, spot:algo-1@step=40, disk-full:algo-1, "
            "corrupt:train/part-00003.jsonl. May be repeated.",
        ),
    ] = None,
    resume: Annotated[
        str | None,
        typer.Option(
            metavar="RUN", help="Go on from the checkpoints of an earlier run, with its parameters."
        ),
    ] = None,
    assembly: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="A synthesized assembly (cdk.out); default: synthesize afresh."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print result.json only.")] = False,
) -> int:
    """Run the whole pipeline on this machine: every host a process tree with only its shards."""
    request = SimulationRequest(
        framework=framework,
        data=s3_folder(data, option="--data") or Path(data),
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
