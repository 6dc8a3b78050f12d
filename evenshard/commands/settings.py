"""`evenshard settings`: what an environment is deployed with, and why."""

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from evenshard.errors import RefusedError, UsageError
from evenshard.output import say
from evenshard.repository import ROOT

_WRONG_ENVIRONMENT = 2


def settings(
    *,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say where each value comes from and what it means.")
    ] = False,
    context: Annotated[
        list[str] | None,
        typer.Option(
            "--context", "-c", metavar="env=NAME", help="The environment, as `cdk` takes it."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Show the settings of an environment. They are checked as a deployment checks them."""
    text = _read(_environment(context or []))
    if as_json:
        say(text.strip())
        return
    document = json.loads(text)
    if explain:
        say(f"Environment {document['environment']}, {document['file']}")
    for line in _lines(document["settings"], explain=explain):
        say(line)


def _environment(pairs: Sequence[str]) -> list[str]:
    """The name given with -c; none where the app's own default holds."""
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if name != "env" or not equals or not value:
            raise UsageError(f"-c {pair} is not env=NAME. Write, say, -c env=prod.")
    if len(pairs) > 1:
        raise UsageError(f"-c is given {len(pairs)} times. Name one environment: -c env=NAME.")
    return [pair.partition("=")[2] for pair in pairs]


def _read(arguments: Sequence[str]) -> str:
    """What infra/ says of itself, in a process of its own: this command knows no infra code."""
    done = subprocess.run(
        [sys.executable, "-m", "infra.explanation", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    words = done.stderr.strip()
    if done.returncode == _WRONG_ENVIRONMENT:
        raise UsageError(words)
    if done.returncode != 0:
        raise RefusedError(words)
    return done.stdout


def _lines(found: Sequence[dict[str, Any]], *, explain: bool) -> list[str]:
    lines: list[str] = []
    for one in found:
        value = "(not set)" if one["value"] is None else json.dumps(one["value"])
        if not explain:
            lines.append(f"{one['key']} = {value}")
            continue
        source = "default" if one["line"] is None else f"line {one['line']}"
        lines.append(f"{one['key']} = {value}  ({source})")
        if one["meaning"]:
            lines.append(f"    {one['meaning']}")
    return lines
