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
from evenshard.output import is_all_written, say

_COMMANDS: Final = (data, emulate, settings, simulate)

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # its boxes cut option names and examples off, narrow terminals more
    context_settings={"help_option_names": ["--help", "-h"]},
)
for _command in _COMMANDS:
    app.command()(_command)


@app.callback(invoke_without_command=True)
def evenshard(
    context: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """Train on ShardedByS3Key data, and see it work on this machine before paying for GPUs.

    `evenshard COMMAND --help` says more of a command.
    """
    if version:
        say(f"evenshard {importlib.metadata.version('evenshard')}")
        raise typer.Exit(ExitCode.DONE)
    if context.invoked_subcommand is None:
        say(context.get_help())
        raise typer.Exit(ExitCode.USAGE)


def main() -> None:
    """Run the command line and exit with a code of `ExitCode`."""
    code = _run(sys.argv[1:])
    sys.exit(code if code or is_all_written() else ExitCode.FAILED)


def _run(arguments: list[str]) -> int:
    as_json = "--json" in arguments
    if set(arguments) == {"--json"}:
        return _report(_no_command(), ExitCode.USAGE, as_json=as_json)
    try:
        outcome: Any = app(arguments, prog_name="evenshard", standalone_mode=False)
    except (typer.Abort, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    except Exception as error:  # noqa: BLE001 - whoever reads stdout gets one document, come what may
        return _report_error(error, as_json=as_json)
    return outcome if isinstance(outcome, int) else ExitCode.DONE


def _no_command() -> str:
    names = " or ".join(command.__name__ for command in _COMMANDS)
    return f"no command is given. It is {names}: `evenshard --help` says what they do."


def _report_error(error: Exception, *, as_json: bool) -> int:
    match error:
        case typer.TyperException():  # an unknown option, a missing argument
            message, code = _wrong_usage(error), ExitCode.USAGE
        case UsageError():
            message, code = str(error), ExitCode.USAGE
        case RefusedError():
            message, code = str(error), ExitCode.FAILED
        case OSError() if error.filename is not None:
            message, code = _of_a_file(error), ExitCode.FAILED
        case _:
            say("".join(traceback.format_exception(error)).rstrip(), error=True)
            message, code = _our_fault(error), ExitCode.FAILED
    return _report(message, code, as_json=as_json)


def _wrong_usage(error: typer.TyperException) -> str:
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "evenshard"
    said = error.format_message()
    end = "" if said.endswith((".", "?")) else "."
    return f"{said}{end} `{command} --help` says what it takes."


def _of_a_file(error: OSError) -> str:
    """A path that cannot be used, or a disk that is full: nothing that evenshard could mend."""
    return (
        f"{error.filename}: {error.strerror}. See that the path is right, that you may use it, and "
        f"that its disk has room.{_notes(error)}"
    )


def _our_fault(error: Exception) -> str:
    return (
        f"{type(error).__name__}: {error}. This is a fault of evenshard itself: report it with the "
        f"traceback on stderr.{_notes(error)}"
    )


def _notes(error: Exception) -> str:
    return "".join(f" {note}" for note in getattr(error, "__notes__", []))


def _report(message: str, code: ExitCode, *, as_json: bool) -> int:
    if as_json:
        say(json.dumps({"error": message}))
    else:
        say(f"Error: {message}", error=True)
    return code
