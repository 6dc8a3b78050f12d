"""`evenshard emulate`: AWS on this machine, with a SageMaker that runs the deployed pipelines."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from evenshard.commands.numbers import whole_number
from evenshard.commands.options import DevicesPerHost
from evenshard.errors import ExitCode, UsageError
from evenshard.output import say
from evenshard.simulator.deployment.resources import ACCOUNT
from evenshard.simulator.run_folder import RUNS_FOLDER, STATE_FOLDER
from evenshard.simulator.signals import Interruptions

if TYPE_CHECKING:
    from evenshard.emulator.server import Emulator

_LARGEST_PORT: Final = 65_535


def emulate(
    *,
    port: Annotated[
        int,
        typer.Option(
            metavar="N",
            parser=whole_number("--port", least=0, most=_LARGEST_PORT),
            help="On 127.0.0.1; 0 for any free one.",
        ),
    ] = 5005,
    devices_per_host: DevicesPerHost = 1,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the address and the environment as JSON.")
    ] = False,
) -> int:
    """Be an AWS on this machine, until Ctrl-C.

    The CDK deploys to it; boto3 and the AWS CLI start the deployed pipelines.
    """
    try:
        with Interruptions(), _serving(port, devices_per_host) as server:
            say(_document(server) if as_json else _welcome(server))
            threading.Event().wait()
    except KeyboardInterrupt:
        if not as_json:
            say(f"Ended, with all that ran. Executions are kept in {STATE_FOLDER / RUNS_FOLDER}/.")
    return ExitCode.INTERRUPTED


@contextmanager
def _serving(port: int, devices_per_host: int) -> "Iterator[Emulator]":
    try:
        # Two seconds, and packages that no other command needs.
        from evenshard.emulator.local_aws import local_aws  # noqa: PLC0415 - see above
    except ModuleNotFoundError as error:
        raise UsageError(
            f"the emulator needs packages that are not installed ({error.name} is missing). "
            "Install them: .venv/bin/python -m pip install -r requirements-emulator.txt"
        ) from error
    with ExitStack() as stack:
        try:
            server = stack.enter_context(local_aws(port=port, devices_per_host=devices_per_host))
        except OSError as error:
            reason = str(error.strerror).partition(" (")[0]  # the port, repeated, is in brackets
            raise UsageError(
                f"--port {port} cannot be served: {reason}. Give another one; 0 takes any that is "
                "free."
            ) from error
        yield server


def _document(server: "Emulator") -> str:
    return json.dumps({"url": server.url, "environment": server.environment()})


def _welcome(server: "Emulator") -> str:
    return f"""\
AWS on this machine: {server.url}, account {ACCOUNT}. What is deployed is gone when it ends;
executions stay in {Path.cwd() / STATE_FOLDER / RUNS_FOLDER}/. In another terminal:

{_exports(server.environment())}

Then, from the repository: docs/emulator.md has the commands that deploy, `evenshard data
s3://BUCKET/data/` writes data, and executions start with boto3 or the AWS CLI as on AWS:

aws sagemaker start-pipeline-execution --pipeline-name evenshard-dev-pytorch

Ctrl-C ends it, and every execution with it."""


def _exports(environment: Mapping[str, str]) -> str:
    return "\n".join(f"export {name}={value}" for name, value in environment.items())
