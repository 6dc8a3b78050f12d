"""Executions of pipelines: start, look, stop, try again."""

import threading
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from evenshard.emulator.sagemaker.errors import CONFLICT, INVALID, NOT_FOUND, ServiceError
from evenshard.emulator.sagemaker.pages import page_of
from evenshard.emulator.sagemaker.parameters import given_parameters
from evenshard.emulator.sagemaker.pipelines import DeployedPipeline, DeployedPipelines
from evenshard.emulator.sagemaker.records import ExecutionRecord, ExecutionRecords
from evenshard.emulator.sagemaker.requests import only
from evenshard.emulator.sagemaker.state import EXECUTING, FAILED, STOPPED, STOPPING, ExecutionState
from evenshard.emulator.sagemaker.steps import parameters_document, step_document
from evenshard.emulator.sagemaker.supervisor import Supervisor
from evenshard.simulator.errors import DefinitionError
from evenshard.simulator.journal import Retried, StopRequested
from evenshard.simulator.pipeline.definition import Definition, read_definition
from evenshard.simulator.run_folder import new_run
from evenshard.simulator.worker import ExecutionJob

Json = dict[str, Any]
STEP_FAILURE: Final = "Step failure: One or multiple steps failed."
"""What SageMaker says of an execution with failed steps (observed); the reason is the step's."""
_START_FIELDS: Final = (
    "PipelineName",
    "PipelineExecutionDisplayName",
    "PipelineExecutionDescription",
    "PipelineParameters",
    "ClientRequestToken",
    "ParallelismConfiguration",
)
_LIST_FIELDS: Final = (
    "PipelineName",
    "CreatedAfter",
    "CreatedBefore",
    "SortBy",
    "SortOrder",
    "NextToken",
    "MaxResults",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Where a request came in."""

    region: str
    endpoint_url: str
    """By which executions reach S3, Lambda and SageMaker."""


@dataclass(slots=True)
class Executions:
    """The operations on executions."""

    records: ExecutionRecords
    supervisor: Supervisor
    devices_per_host: int
    pipelines: DeployedPipelines = field(default_factory=DeployedPipelines)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _retried: set[tuple[str, str]] = field(default_factory=set)
    """Execution, ClientRequestToken."""

    def start(self, request: Json, caller: Caller) -> Json:
        """Answer StartPipelineExecution. One that has to wait for others counts as executing."""
        only("StartPipelineExecution", request, _START_FIELDS)
        pipeline = self._pipeline(request["PipelineName"], caller)
        with self._lock:  # of two requests with one token, one starts
            for record in self.records.all():
                same = record.pipeline_arn == pipeline.arn
                if same and record.token == request["ClientRequestToken"]:
                    return {"PipelineExecutionArn": record.arn}
            record = self._new(request, pipeline, caller)
            self.supervisor.submit(record.folder)
        return {"PipelineExecutionArn": record.arn}

    def _new(self, request: Json, pipeline: DeployedPipeline, caller: Caller) -> ExecutionRecord:
        definition = _definition_of(pipeline.definition)
        parameters = given_parameters(request.get("PipelineParameters", []), definition.parameters)
        execution_id, folder = new_run(self.records.runs)
        created_s = time.time()
        arn = f"{pipeline.arn}/execution/{execution_id}"
        ExecutionJob(
            execution_arn=arn,
            pipeline_name=pipeline.name,
            definition=pipeline.definition,
            parameters=parameters,
            endpoint_url=caller.endpoint_url,
            started=datetime.fromtimestamp(created_s, UTC).isoformat(timespec="seconds"),
            devices_per_host=self.devices_per_host,
        ).write(folder)
        described = {
            "PipelineExecutionDisplayName": request.get(
                "PipelineExecutionDisplayName", f"execution-{round(created_s * 1000)}"
            ),
            "PipelineExecutionDescription": request.get("PipelineExecutionDescription"),
            "ParallelismConfiguration": request.get(
                "ParallelismConfiguration", pipeline.parallelism
            ),
        }
        record = ExecutionRecord(
            folder=folder,
            arn=arn,
            pipeline_arn=pipeline.arn,
            token=request["ClientRequestToken"],
            created_s=created_s,
            described={name: value for name, value in described.items() if value is not None},
        )
        self.records.add(record)
        return record

    def describe(self, request: Json, caller: Caller) -> Json:
        """Answer DescribePipelineExecution."""
        record = self._record(request, caller)
        state = record.state()
        reason = _reason(state)
        return {
            "PipelineArn": record.pipeline_arn,
            "PipelineExecutionArn": record.arn,
            "PipelineExecutionStatus": state.status,
            "CreationTime": record.created_s,
            "LastModifiedTime": max(record.created_s, state.changed_s),
            **record.described,
            **({"FailureReason": reason} if reason else {}),
        }

    def listed(self, request: Json, caller: Caller) -> Json:
        """Answer ListPipelineExecutions."""
        only("ListPipelineExecutions", request, _LIST_FIELDS)
        pipeline = self._pipeline(request["PipelineName"], caller)
        after = request.get("CreatedAfter", 0.0)
        before = request.get("CreatedBefore", float("inf"))
        found = [
            record
            for record in self.records.all()
            if record.pipeline_arn == pipeline.arn and after < record.created_s < before
        ]
        if request.get("SortBy") == "PipelineExecutionArn":
            found.sort(key=lambda record: record.arn)
        if request.get("SortOrder", "Descending") == "Descending":
            found.reverse()
        summaries = [_summary(record) for record in found]
        return page_of(summaries, "PipelineExecutionSummaries", request)

    def steps(self, request: Json, caller: Caller) -> Json:
        """Answer ListPipelineExecutionSteps: the steps that have begun, the last one first."""
        if "PipelineExecutionArn" not in request:
            raise ServiceError(INVALID, "PipelineExecutionArn is missing. Give it.")
        record = self._record(request, caller)
        definition = _definition_of(record.job().definition)
        documents = []
        for state in record.state().steps.values():
            step = definition.step(state.name)
            assert step is not None  # noqa: S101 - it ran by this very definition
            documents.append(step_document(state, step))
        if request.get("SortOrder", "Descending") == "Descending":
            documents.reverse()
        return page_of(documents, "PipelineExecutionSteps", request)

    def parameters(self, request: Json, caller: Caller) -> Json:
        """Answer ListPipelineParametersForExecution: those with their defaults, too."""
        job = self._record(request, caller).job()
        values = {
            declared.name: job.parameters.get(declared.name, declared.default)
            for declared in _definition_of(job.definition).parameters
        }
        return page_of(parameters_document(values), "PipelineParameters", request)

    def definition(self, request: Json, caller: Caller) -> Json:
        """Answer DescribePipelineDefinitionForExecution: as it was when the execution started."""
        record = self._record(request, caller)
        return {"PipelineDefinition": record.job().definition, "CreationTime": record.created_s}

    def stop(self, request: Json, caller: Caller) -> Json:
        """Answer StopPipelineExecution."""
        with self._lock:
            record = self._record(request, caller)
            status = record.state().status
            if status not in (EXECUTING, STOPPING):
                raise ServiceError(
                    CONFLICT,
                    f"Pipeline execution {record.arn} is {status}. Only one that is {EXECUTING} "
                    "can be stopped.",
                )
            if status == EXECUTING:
                record.journal.add(StopRequested())
                self.supervisor.stop(record.folder)
        return {"PipelineExecutionArn": record.arn}

    def retry(self, request: Json, caller: Caller) -> Json:
        """Answer RetryPipelineExecution: steps that succeeded are not run again."""
        with self._lock:
            record = self._record(request, caller)
            asked = (record.arn, request["ClientRequestToken"])
            if asked not in self._retried:
                _check_retry(record)
                self._retried.add(asked)
                # This may be another emulator than the one it was started with.
                job = replace(
                    record.job(),
                    endpoint_url=caller.endpoint_url,
                    devices_per_host=self.devices_per_host,
                )
                job.write(record.folder)
                record.journal.add(Retried())
                self.supervisor.submit(record.folder)
        return {"PipelineExecutionArn": record.arn}

    def running(self, pipeline_arn: str) -> list[str]:
        """The ARNs of a pipeline's executions that have not ended."""
        return [
            record.arn
            for record in self.records.all()
            if record.pipeline_arn == pipeline_arn
            and record.state().status in (EXECUTING, STOPPING)
        ]

    def _pipeline(self, name: str, caller: Caller) -> DeployedPipeline:
        return self.pipelines.find(name, endpoint_url=caller.endpoint_url, region=caller.region)

    def _record(self, request: Json, caller: Caller) -> ExecutionRecord:
        arn = request["PipelineExecutionArn"]
        record = self.records.find(arn)
        if record is None or record.region != caller.region:
            raise ServiceError(
                NOT_FOUND,
                f"Pipeline execution '{arn}' does not exist in {caller.region}. "
                "list-pipeline-executions says which there are.",
            )
        return record


def _definition_of(body: str) -> Definition:
    try:
        return read_definition(body)
    except DefinitionError as error:
        raise ServiceError(INVALID, f"The pipeline's definition: {error}") from error


def _check_retry(record: ExecutionRecord) -> None:
    state = record.state()
    if state.status not in (FAILED, STOPPED):
        code = CONFLICT if state.status in (EXECUTING, STOPPING) else INVALID
        raise ServiceError(
            code,
            f"Pipeline execution {record.arn} is {state.status}. Only one that has failed or was "
            "stopped can be retried.",
        )
    failed = [s.name for s in state.steps.values() if s.type == "Fail" and s.status == FAILED]
    if failed:
        raise ServiceError(
            INVALID,
            f"Pipeline execution {record.arn} was ended by its Fail step {failed[0]}: it cannot be "
            "retried. Start a new one.",
        )


def _summary(record: ExecutionRecord) -> Json:
    state = record.state()
    reason = _reason(state)
    shown = ("PipelineExecutionDisplayName", "PipelineExecutionDescription")
    return {
        "PipelineExecutionArn": record.arn,
        "StartTime": record.created_s,
        "PipelineExecutionStatus": state.status,
        **{name: record.described[name] for name in shown if name in record.described},
        **({"PipelineExecutionFailureReason": reason} if reason else {}),
    }


def _reason(state: ExecutionState) -> str | None:
    if state.status == FAILED and any(step.status == FAILED for step in state.steps.values()):
        return STEP_FAILURE
    return state.failure_reason
