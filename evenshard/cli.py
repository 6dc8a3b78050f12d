"""The `evenshard` command."""

import importlib.metadata
import json
import sys
import traceback
from typing import Annotated, Any, Final

import typer

from evenshard.commands.data import data
from evenshard.commands.emulate import emulate
from evenshard.commands.settings import settings
from evenshard.commands.simulate import simulate
from evenshard.errors import ExitCode, RefusedError, UsageError
from evenshard.output import say

_COMMANDS: Final = (data, emulate, settings, simulate)

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
for _command in _COMMANDS:
    app.command()(_command)


@app.callback(invoke_without_command=True)
def evenshard(
    context: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """Train on ShardedByS3Key data, and see it work on this machine before paying for GPUs."""
    if version:
        say(f"evenshard {importlib.metadata.version('evenshard')}")
        raise typer.Exit(ExitCode.DONE)
    if context.invoked_subcommand is None:
        context.get_help()  # typer prints it and returns nothing
        raise typer.Exit(ExitCode.USAGE)


def main() -> None:
    """Run the command line and exit with a code of `ExitCode`."""
    sys.exit(_run(sys.argv[1:]))


def _run(arguments: list[str]) -> int:
    as_json = "--json" in arguments
    if set(arguments) == {"--json"}:
        return _report(_no_command(), ExitCode.USAGE, as_json=as_json)
    try:
        outcome: Any = app(arguments, prog_name="evenshard", standalone_mode=False)
    except (typer.Abort, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    except typer.TyperException as error:  # an unknown option, a missing argument
        return _report(error.format_message(), ExitCode.USAGE, as_json=as_json)
    except (UsageError, RefusedError) as error:
        code = ExitCode.USAGE if isinstance(error, UsageError) else ExitCode.FAILED
        return _report(str(error), code, as_json=as_json)
    except Exception as error:  # noqa: BLE001 - whoever reads stdout gets one document, come what may
        say(traceback.format_exc().rstrip(), error=True)
        return _report(_our_fault(error), ExitCode.FAILED, as_json=as_json)
    return outcome if isinstance(outcome, int) else ExitCode.DONE


def _no_command() -> str:
    names = " or ".join(command.__name__ for command in _COMMANDS)
    return f"no command is given. It is {names}: `evenshard --help` says what they do."


def _our_fault(error: Exception) -> str:
    notes = "".join(f" {note}" for note in getattr(error, "__notes__", []))
    return (
        f"{type(error).__name__}: {error}. This is a fault of evenshard itself: report it with the "
        f"traceback on stderr.{notes}"
    )


def _report(message: str, code: ExitCode, *, as_json: bool) -> int:
    if as_json:
        say(json.dumps({"error": message}))
    else:
        say(f"Error: {message}", error=True)
    return code
