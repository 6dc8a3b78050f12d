"""Lambda steps: the function's own asset, run in a process of its own. Source: docs/facts.md 8."""

import json
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from evenshard.simulator.cluster.hosts import LOG_FILE
from evenshard.simulator.deployment import function_runtime
from evenshard.simulator.deployment.function_runtime import WARNING_PREFIX
from evenshard.simulator.deployment.functions import FunctionCode
from evenshard.simulator.errors import DefinitionError, StepFailedError
from evenshard.simulator.events import Noted
from evenshard.simulator.processes import clean_environment, kill_group, start
from evenshard.simulator.steps.outcome import Outcome, StepRun
from evenshard.simulator.storage.objects import ObjectStore, object_uri
from evenshard.simulator.workspace import Workspace

_STEP_LIMIT_S: Final = 600
"""How long Pipelines wait for a function."""
_LONGEST_OUTPUT: Final = 1024
_OUTPUT_TYPES: Final[Mapping[str, type | tuple[type, ...]]] = {
    "String": str,
    "Integer": int,
    "Boolean": bool,
    "Float": (int, float),
}


def run_function(run: StepRun) -> Outcome:
    """Call a Lambda function with the step's arguments.

    Raises:
        StepFailedError: it raised, took too long, or did not return what the step declares.
    """
    arn = run.step.fields["FunctionArn"]
    if not isinstance(arn, str):
        raise DefinitionError(f"{run.step.path}.FunctionArn", "write the ARN; no expression.")
    code = run.workspace.functions.function(arn, f"{run.step.path}.FunctionArn")
    folder = run.workspace.step_folder(run.step)
    _write_json(folder / "event.json", run.arguments)
    log_file = folder / LOG_FILE
    reply = _call(code, run.arguments, run.workspace, log_file)
    for line in log_file.read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith(WARNING_PREFIX):
            run.workspace.report(Noted(text=line.removeprefix(WARNING_PREFIX)))
    if "error" in reply:
        raise StepFailedError(f"{reply['error']['type']}: {reply['error']['message']}")
    _write_json(folder / "output.json", reply["result"])
    return Outcome(properties={"OutputParameters": _declared_outputs(run, reply["result"])})


def _call(
    code: FunctionCode, event: Mapping[str, Any], workspace: Workspace, log_file: Path
) -> dict[str, Any]:
    limit_s = min(code.limit_s, _STEP_LIMIT_S)
    request = {
        "folder": str(code.folder.resolve()),
        "handler": code.handler,
        "event": dict(event),
        "calls_aws": code.calls_aws,
    }
    with log_file.open("w", encoding="utf-8") as log:
        process = start(
            # -I: nothing but the function's own folder adds to what it can import.
            # -B: the folder is an asset of the user's assembly, so nothing is written into it.
            [sys.executable, "-I", "-B", function_runtime.__file__],
            environment=_environment(code, workspace),
            working_directory=code.folder,
            errors=log,
        )
        # Set before the process is killed: whoever sees its end knows why it came.
        timed_out = threading.Event()
        timer = threading.Timer(limit_s, _end, (process, timed_out))
        timer.start()
        try:
            reply = _converse(process, request, workspace.store)
        finally:
            timer.cancel()
            kill_group(process)
    if reply is not None:
        return reply
    if timed_out.is_set():
        raise StepFailedError(f"{code.name} took longer than its {limit_s} seconds.")
    raise StepFailedError(f"{code.name} ended without an answer: see {log_file}.")


def _end(process: subprocess.Popen[str], timed_out: threading.Event) -> None:
    timed_out.set()
    process.kill()


def _converse(
    process: subprocess.Popen[str], request: Mapping[str, Any], store: ObjectStore
) -> dict[str, Any] | None:
    """Send the event and serve listings until the answer comes; None if the process ends first."""
    assert process.stdin is not None  # noqa: S101 - both are pipes, see _call
    assert process.stdout is not None  # noqa: S101 - the same
    question: Mapping[str, Any] = request
    while True:
        try:
            process.stdin.write(json.dumps(question) + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            return None
        line = process.stdout.readline()
        if not line:
            return None
        message: dict[str, Any] = json.loads(line)
        if "list" not in message:
            return message
        uri = object_uri(message["list"]["bucket"], message["list"]["prefix"])
        question = {"objects": [asdict(stored) for stored in store.list(uri)]}


def _environment(code: FunctionCode, workspace: Workspace) -> dict[str, str]:
    return {
        **clean_environment(),
        "AWS_REGION": workspace.place.region,
        "AWS_LAMBDA_FUNCTION_NAME": code.name,
        **code.environment,
    }


def _declared_outputs(run: StepRun, result: object) -> dict[str, Any]:
    if not isinstance(result, dict):
        raise StepFailedError(f"the function returned {result!r}, not an object of outputs.")
    outputs = {}
    for output in run.step.fields.get("OutputParameters", []):
        name, kind = output["OutputName"], output["OutputType"]
        value: Any = result.get(name)
        wrong_boolean = isinstance(value, bool) and kind != "Boolean"
        if wrong_boolean or not isinstance(value, _OUTPUT_TYPES[kind]):
            raise StepFailedError(
                f"output parameter {name} is declared as {kind}, and the function returned "
                f"{value!r}. It returned {', '.join(result) or 'nothing'}."
            )
        if isinstance(value, str) and len(value) > _LONGEST_OUTPUT:
            raise StepFailedError(f"output parameter {name} is over {_LONGEST_OUTPUT} characters.")
        outputs[name] = value
    return outputs


def _write_json(file: Path, content: object) -> None:
    file.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
