"""Options as types: of what is simulated, for every command that simulates."""

from pathlib import Path
from typing import Annotated

import typer

from evenshard.commands.numbers import whole_number
from evenshard.simulator.limits import MOST_DEVICES_PER_HOST, MOST_HOSTS
from training.contract.layout import FRAMEWORKS

Framework = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help=f"The assembly's pipeline whose name ends in -NAME: {' or '.join(FRAMEWORKS)}.",
    ),
]
Data = Annotated[
    str,
    typer.Option(
        metavar="DIR|s3://...",
        help="Folder, of this machine or of S3, with train/, validation/, test/ "
        "(`evenshard data` writes one).",
    ),
]
Hosts = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        parser=whole_number("--hosts", least=1, most=MOST_HOSTS),
        help=f"Training hosts, 1 to {MOST_HOSTS}; the same as --param InstanceCount=N.",
    ),
]
DevicesPerHost = Annotated[
    int,
    typer.Option(
        metavar="N",
        parser=whole_number("--devices-per-host", least=1, most=MOST_DEVICES_PER_HOST),
        help=f"Training processes of each host, 1 to {MOST_DEVICES_PER_HOST}.",
    ),
]
Parameters = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="A pipeline parameter. May be repeated."),
]
Assignment = Annotated[
    str,
    typer.Option(
        metavar="RULE",
        help="How objects are dealt out to hosts: round-robin, contiguous, single-host or "
        "random[:SEED].",
    ),
]
Faults = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KIND:TARGET[@MOMENT]",
        help="What goes wrong, and when: sigterm:algo-2@step=30, sigkill:algo-1/1@step=20, "
        "stall:algo-2@saving, slow:algo-2x3, spot:algo-1@step=40, disk-full:algo-1, "
        "corrupt:train/part-00003.jsonl. May be repeated.",
    ),
]
Resume = Annotated[
    str | None,
    typer.Option(
        metavar="RUN",
        help="Go on from the checkpoints of an earlier run (its execution id or folder), with its "
        "parameters.",
    ),
]
AssemblyFolder = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="A synthesized assembly (cdk.out). Left out: synthesize afresh."
    ),
]
