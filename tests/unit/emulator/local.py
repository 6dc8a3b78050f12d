"""A local AWS with the tiny pipeline deployed, for the tests of a module."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenshard.emulator.local_aws import local_aws
from evenshard.emulator.sagemaker.supervisor import WORKER
from evenshard.emulator.server import Emulator
from tests.unit.emulator.tiny_pipelines import (
    LAMBDA_TRUST,
    create_function,
    create_pipeline,
    tiny_definition,
)

ENDED = ("Succeeded", "Failed", "Stopped")


@dataclass(frozen=True, kw_only=True)
class Local:
    """The server, and what tests do with it again and again."""

    server: Emulator
    sagemaker: Any
    s3: Any

    def start(self, pipeline: str = "tiny", **parameters: str) -> str:
        """Start an execution; its ARN."""
        given = [{"Name": name, "Value": value} for name, value in parameters.items()]
        answer = self.sagemaker.start_pipeline_execution(
            PipelineName=pipeline, PipelineParameters=given
        )
        arn: str = answer["PipelineExecutionArn"]
        return arn

    def describe(self, arn: str) -> dict[str, Any]:
        found: dict[str, Any] = self.sagemaker.describe_pipeline_execution(PipelineExecutionArn=arn)
        return found

    def steps(self, arn: str) -> dict[str, dict[str, Any]]:
        """The steps that have begun, by name and in their order."""
        listed = self.sagemaker.list_pipeline_execution_steps(
            PipelineExecutionArn=arn, SortOrder="Ascending"
        )
        return {step["StepName"]: step for step in listed["PipelineExecutionSteps"]}

    def ended(self, arn: str, limit_s: float = 100) -> dict[str, Any]:
        """The description of an execution when it is over."""
        return self.wait(arn, *ENDED, limit_s=limit_s)

    def wait(self, arn: str, *statuses: str, limit_s: float = 100) -> dict[str, Any]:
        deadline = time.monotonic() + limit_s
        while (found := self.describe(arn))["PipelineExecutionStatus"] not in statuses:
            assert time.monotonic() < deadline, found
            time.sleep(0.1)
        return found

    def wait_for_step(self, arn: str, name: str, limit_s: float = 100) -> dict[str, Any]:
        """A step as soon as it has begun."""
        deadline = time.monotonic() + limit_s
        while name not in (steps := self.steps(arn)):
            assert time.monotonic() < deadline, steps
            time.sleep(0.1)
        return steps[name]

    def worker(self, arn: str) -> int:
        """The process id of whoever runs an execution."""
        execution_id = arn.rpartition("/")[2].encode()
        found = []
        for entry in Path("/proc").iterdir():
            with suppress(OSError):  # it is no process, or has ended
                command = (entry / "cmdline").read_bytes().split(b"\0")
                if WORKER.encode() in command and command[-2].endswith(execution_id):
                    found.append(int(entry.name))
        [process_id] = found
        return process_id

    def put(self, key: str) -> None:
        self.s3.put_object(Bucket="tiny", Key=key, Body=b"x")


@contextmanager
def deployed(state_folder: Path) -> Iterator[Local]:
    """Serve, with a bucket, a function, a model package group and the tiny pipeline."""
    with local_aws(state_folder=state_folder, at_once=1) as server:
        local = Local(server=server, sagemaker=server.client("sagemaker"), s3=server.client("s3"))
        local.s3.create_bucket(Bucket="tiny")
        local.put("model.tar.gz")
        server.client("iam").create_role(
            RoleName="pipeline",
            Path="/service-role/",
            AssumeRolePolicyDocument=json.dumps(LAMBDA_TRUST),
        )
        create_function(server.client("lambda"))
        local.sagemaker.create_model_package_group(ModelPackageGroupName="tiny")
        create_pipeline(local.sagemaker, "tiny", tiny_definition())
        yield local
