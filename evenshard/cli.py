"""The `evenshard` command."""

import json
import sys
from typing import Any

import typer

from evenshard.commands.data import data
from evenshard.commands.simulate import simulate
from evenshard.errors import ExitCode, RefusedError, UsageError

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Train on ShardedByS3Key data, and see it work on this machine before paying for GPUs.",
)
app.command()(data)
app.command()(simulate)


def main() -> None:
    """Run the command line and exit with a code of `ExitCode`."""
    sys.exit(_run(sys.argv[1:]))


def _run(arguments: list[str]) -> int:
    as_json = "--json" in arguments
    try:
        outcome: Any = app(arguments, standalone_mode=False)
    except (typer.Abort, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    except typer.TyperException as error:  # an unknown option, a value of the wrong type
        return _report(error.format_message(), ExitCode.USAGE, as_json=as_json)
    except UsageError as error:
        return _report(str(error), ExitCode.USAGE, as_json=as_json)
    except RefusedError as error:
        return _report(str(error), ExitCode.FAILED, as_json=as_json)
    return outcome if isinstance(outcome, int) else ExitCode.DONE


def _report(message: str, code: ExitCode, *, as_json: bool) -> int:
    if as_json:
        sys.stdout.write(json.dumps({"error": message}) + "\n")
    else:
        sys.stderr.write(f"Error: {message}\n")
    return code
