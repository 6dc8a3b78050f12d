"""Runs one execution of a deployed pipeline in a process of its own: `python -m ... FOLDER`.

The folder is the execution's. It holds `job.json`; the worker adds what happens to the journal and
leaves result.json. SIGTERM means StopPipelineExecution: hosts get as long to save their state as on
SageMaker; a second SIGTERM ends them at once. The end of standard input is both, a while apart:
whoever started the worker holds the other end, and is gone then.
"""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from evenshard.errors import RefusedError, UsageError
from evenshard.simulator.cluster.assignment import ROUND_ROBIN, parse_assignment
from evenshard.simulator.cluster.hosts import STOP_GRACE_S
from evenshard.simulator.deployment.resources import Place
from evenshard.simulator.errors import DefinitionError, internal_failure
from evenshard.simulator.events import RunStarted
from evenshard.simulator.execution import Execution
from evenshard.simulator.journal import JOURNAL_FILE, Journal, RunEnded
from evenshard.simulator.pipeline.definition import read_definition
from evenshard.simulator.pipeline.parameters import settle
from evenshard.simulator.progress import progress_of
from evenshard.simulator.result import Result, Status
from evenshard.simulator.run_folder import DEFINITION_FILE
from evenshard.simulator.signals import Interruptions
from evenshard.simulator.workspace import Workspace

JOB_FILE: Final = "job.json"
_NOBODY: Final = "local"
"""Key and secret: the emulator asks for some and looks at none."""
_ALONE_S: Final = 15
"""How long the hosts may take to stop when the emulator is gone, before they are killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionJob:
    """What to run: the content of job.json."""

    execution_arn: str
    pipeline_name: str
    definition: str
    """The pipeline's definition as it was when the execution started."""
    parameters: Mapping[str, str]
    """Those that were given; the others have their defaults."""
    endpoint_url: str
    """Where S3, Lambda and SageMaker answer."""
    started: str
    """ISO 8601."""
    devices_per_host: int = 1
    assignment: str = ROUND_ROBIN
    grace_s: float = STOP_GRACE_S
    """Between SIGTERM and SIGKILL of a host."""

    @property
    def execution_id(self) -> str:
        """The last part of the ARN."""
        return self.execution_arn.rpartition("/")[2]

    @property
    def place(self) -> Place:
        """Where the execution is, by its ARN."""
        _, partition, _, region, account, _ = self.execution_arn.split(":", 5)
        return Place(partition=partition, region=region, account=account)

    def aws_environment(self) -> dict[str, str]:
        """The variables by which every AWS tool finds the endpoint and no account of the user."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint_url,
            "AWS_ACCESS_KEY_ID": _NOBODY,
            "AWS_SECRET_ACCESS_KEY": _NOBODY,
            "AWS_REGION": self.place.region,
            "AWS_DEFAULT_REGION": self.place.region,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def write(self, folder: Path) -> None:
        """Write job.json into the execution's folder."""
        text = json.dumps(asdict(self), indent=2, ensure_ascii=False)
        (folder / JOB_FILE).write_text(text + "\n", encoding="utf-8")


def read_job(folder: Path) -> ExecutionJob:
    """Read what `ExecutionJob.write` wrote."""
    return ExecutionJob(**json.loads((folder / JOB_FILE).read_text(encoding="utf-8")))


def run_execution(folder: Path) -> Result:
    """Run the execution of a folder to its end, which the journal and result.json then tell.

    Raises:
        Exception: a fault of this program; journal and result.json say Failed all the same.
    """
    job, journal = read_job(folder), Journal(folder / JOURNAL_FILE)
    result = Result(execution_id=job.execution_id, pipeline=job.pipeline_name, folder=folder)
    with Interruptions() as interruptions:
        try:
            _run(job, journal, result)
        except (DefinitionError, UsageError, RefusedError) as error:
            result.fail(f"ValidationException: {error}")
        except KeyboardInterrupt:
            result.stop()
        except Exception as error:
            result.fail(internal_failure(error))
            raise
        finally:
            interruptions.ignore()
            with suppress(OSError):  # of a full disk: the journal's line is short and may fit
                result.write()
            journal.add(RunEnded(status=result.status, failure_reason=result.failure_reason))
    return result


def _run(job: ExecutionJob, journal: Journal, result: Result) -> None:
    # Not before a signal would be heeded: it takes a second.
    import boto3  # noqa: PLC0415 - see above

    from evenshard.simulator.deployment.deployed import (  # noqa: PLC0415 - the same
        DeployedFunctions,
        DeployedRegistry,
    )
    from evenshard.simulator.storage.s3_objects import open_s3  # noqa: PLC0415 - the same

    os.environ.update(job.aws_environment())
    definition = read_definition(job.definition)
    (result.folder / DEFINITION_FILE).write_text(job.definition, encoding="utf-8")
    result.parameters = settle(definition.parameters, job.parameters)
    progress = progress_of(result.folder, journal)
    journal.add(
        RunStarted(
            execution_id=job.execution_id,
            pipeline=job.pipeline_name,
            folder=result.folder,
            parameters=result.parameters,
        )
    )
    workspace = Workspace(
        functions=DeployedFunctions(
            boto3.client("lambda"), result.folder / "functions", job.aws_environment()
        ),
        store=open_s3(),
        registry=DeployedRegistry(boto3.client("sagemaker")),
        folder=result.folder,
        execution_id=job.execution_id,
        devices_per_host=job.devices_per_host,
        assignment=parse_assignment(job.assignment),
        report=journal.add,
        grace_s=job.grace_s,
        interrupt_grace_s=job.grace_s,
        place=job.place,
    )
    Execution(definition, workspace, result, _variables(job), progress).run()


def _variables(job: ExecutionJob) -> dict[str, str]:
    return {
        "CurrentDateTime": datetime.now(UTC).isoformat(timespec="seconds"),
        "PipelineArn": job.execution_arn.partition("/execution/")[0],
        "PipelineExecutionArn": job.execution_arn,
        "PipelineExecutionId": job.execution_id,
        "PipelineName": job.pipeline_name,
        "StartDateTime": job.started,
    }


def _end_with_input() -> None:
    """Stop as soon as standard input ends: whoever holds its other end is gone."""
    while os.read(0, 1024):
        pass
    # To the process and not to this thread: what the main thread waits for is to be interrupted.
    os.kill(os.getpid(), signal.SIGTERM)
    # What hosts still save is to go to an endpoint that is gone as well.
    time.sleep(_ALONE_S)
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> int:
    """Run the execution whose folder the command line names."""
    threading.Thread(target=_end_with_input, daemon=True).start()
    result = run_execution(Path(sys.argv[1]))
    return 0 if result.status is Status.SUCCEEDED else 1


if __name__ == "__main__":
    sys.exit(main())
