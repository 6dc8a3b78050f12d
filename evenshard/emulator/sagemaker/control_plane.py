"""The layer that answers what is the control plane's, and hands everything else to moto."""

import fcntl
import io
import json
import logging
import os
import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from evenshard.emulator.sagemaker.errors import INTERNAL, INVALID, MALFORMED, ServiceError
from evenshard.emulator.sagemaker.executions import Caller, Executions
from evenshard.emulator.sagemaker.jobs import PROCESSING, TRAINING, Jobs
from evenshard.emulator.sagemaker.records import ExecutionRecords
from evenshard.emulator.sagemaker.requests import check_request
from evenshard.emulator.sagemaker.state import EXECUTING, FAILED, STOPPING
from evenshard.emulator.sagemaker.supervisor import Supervisor, settle
from evenshard.errors import UsageError
from evenshard.simulator.deployment.resources import REGION
from evenshard.simulator.run_folder import RUNS_FOLDER, STATE_FOLDER

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

Json = dict[str, Any]
_Operation = Callable[[Json, Caller], Json]
_SERVICE: Final = "SageMaker"
_LOCK_FILE: Final = "emulator.lock"
_SCOPE: Final = re.compile(r"Credential=[^/]*/[0-9]+/([a-z0-9-]+)/")
AT_ONCE: Final = max(1, (os.cpu_count() or 1) // 2)
"""Executions side by side: each of several processes that compute."""
_JOBS: Final = re.compile(r"Create\w+Job")
_log = logging.getLogger("evenshard.emulator")


class ControlPlane:
    """Executions of one state folder. `layer` puts it before moto."""

    def __init__(
        self,
        *,
        state_folder: Path = STATE_FOLDER,
        devices_per_host: int = 1,
        at_once: int = AT_ONCE,
    ) -> None:
        """Find the executions of earlier control planes.

        Args:
            state_folder: holds runs/.
            devices_per_host: training processes of each host, 1 or more.
            at_once: executions that run side by side; the others wait their turn.

        Raises:
            UsageError: another control plane uses the folder, or it cannot be made.
        """
        state_folder = state_folder.resolve()
        self._lock = _lock(state_folder)
        records = ExecutionRecords(state_folder / RUNS_FOLDER)
        for record in records.all():
            if record.state().status in (EXECUTING, STOPPING):
                settle(record.folder, FAILED, "InternalFailure: the emulator ended while this ran.")
        self._supervisor = Supervisor(at_once)
        self._executions = Executions(records, self._supervisor, devices_per_host)
        self._operations = _operations(self._executions, Jobs(records))

    def layer(self, inner: "WSGIApplication") -> "WSGIApplication":
        """Answer the operations that are the control plane's; `inner` has the others."""

        def application(
            environ: "WSGIEnvironment", start_response: "StartResponse"
        ) -> Iterable[bytes]:
            service, _, operation = environ.get("HTTP_X_AMZ_TARGET", "").partition(".")
            answer = self._answer(operation, environ) if service == _SERVICE else None
            if answer is None:
                return inner(environ, start_response)
            status, body = answer
            content = json.dumps(body).encode()
            headers = [
                ("Content-Type", "application/x-amz-json-1.1"),
                ("Content-Length", str(len(content))),
                ("x-amzn-RequestId", str(uuid.uuid4())),
            ]
            start_response(status, headers)
            return [content]

        return application

    def running(self, pipeline_arn: str) -> list[str]:
        """The ARNs of a pipeline's executions that have not ended."""
        return self._executions.running(pipeline_arn)

    def close(self) -> None:
        """Stop what runs, and give the folder free."""
        self._supervisor.close()
        self._lock.close()

    def __enter__(self) -> Self:
        """Use it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def _operation(self, name: str) -> _Operation | None:
        """Who answers; None: moto."""
        return self._operations.get(name, _no_job if _JOBS.fullmatch(name) else None)

    def _answer(self, operation: str, environ: "WSGIEnvironment") -> tuple[str, Json] | None:
        """Answer a request; None leaves that to moto, which would not look at it as closely."""
        try:
            request = _request(environ)
            check_request(operation, request)
            answer = self._operation(operation)
            return None if answer is None else ("200 OK", answer(request, _caller(environ)))
        except ServiceError as error:
            return "400 Bad Request", {"__type": error.code, "message": error.message}
        except Exception as error:  # noqa: BLE001 - logged whole; the server must go on
            # One request has failed; executions and other requests go on.
            _log.exception("%s failed", operation)
            text = f"{type(error).__name__}: {error}. This is a fault of the emulator."
            return "500 Internal Server Error", {"__type": INTERNAL, "message": text}


def _operations(executions: Executions, jobs: Jobs) -> Mapping[str, _Operation]:
    return {
        "StartPipelineExecution": executions.start,
        "DescribePipelineExecution": executions.describe,
        "ListPipelineExecutions": executions.listed,
        "ListPipelineExecutionSteps": executions.steps,
        "ListPipelineParametersForExecution": executions.parameters,
        "DescribePipelineDefinitionForExecution": executions.definition,
        "StopPipelineExecution": executions.stop,
        "RetryPipelineExecution": executions.retry,
        "DescribeTrainingJob": lambda r, caller: jobs.describe(TRAINING, r, caller.region),
        "DescribeProcessingJob": lambda r, caller: jobs.describe(PROCESSING, r, caller.region),
        "StopTrainingJob": lambda r, caller: jobs.stop(TRAINING, r, caller.region),
        "StopProcessingJob": lambda r, caller: jobs.stop(PROCESSING, r, caller.region),
        "ListTrainingJobs": lambda r, caller: jobs.listed(TRAINING, r, caller.region),
        "ListProcessingJobs": lambda r, caller: jobs.listed(PROCESSING, r, caller.region),
    }


def _no_job(_request: Json, _caller: Caller) -> Json:
    """Refuse what would pretend to run: moto's jobs are complete when they are created."""
    raise ServiceError(
        INVALID,
        "Jobs run here as steps of a pipeline's execution and not by themselves. Start an "
        "execution.",
    )


def _request(environ: "WSGIEnvironment") -> Json:
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    environ["wsgi.input"] = io.BytesIO(body)  # for moto, if it is to answer
    try:
        request = json.loads(body or b"{}")
    except ValueError as error:
        raise ServiceError(MALFORMED, f"The request is no JSON: {error}") from error
    if not isinstance(request, dict):
        raise ServiceError(MALFORMED, "The request is no JSON object.")
    return request


def _caller(environ: "WSGIEnvironment") -> Caller:
    scope = _SCOPE.search(environ.get("HTTP_AUTHORIZATION", ""))
    return Caller(
        region=scope.group(1) if scope else REGION,
        endpoint_url=f"http://{environ['SERVER_NAME']}:{environ['SERVER_PORT']}",
    )


def _lock(state_folder: Path) -> Any:  # noqa: ANN401 - an open file, which is all there is to know
    try:
        state_folder.mkdir(parents=True, exist_ok=True)
        file = (state_folder / _LOCK_FILE).open("a")
    except OSError as error:
        raise UsageError(
            f"{state_folder} cannot be written: {error.strerror}. Start the emulator in a folder "
            "that you may write to."
        ) from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise UsageError(
            f"another emulator keeps its executions in {state_folder}. End it, or start this one "
            "in another folder."
        ) from error
    return file
