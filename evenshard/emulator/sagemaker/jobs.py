"""Training and processing jobs of executions: describe and list."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from evenshard.emulator.sagemaker.errors import INVALID, NOT_FOUND, ServiceError
from evenshard.emulator.sagemaker.pages import page_of
from evenshard.emulator.sagemaker.records import ExecutionRecord, ExecutionRecords
from evenshard.emulator.sagemaker.requests import only, service_model
from evenshard.emulator.sagemaker.state import COMPLETED, FAILED, IN_PROGRESS, STOPPED, JobState

Json = dict[str, Any]
_FILTERS: Final = (
    "NextToken",
    "MaxResults",
    "NameContains",
    "StatusEquals",
    "CreationTimeAfter",
    "CreationTimeBefore",
    "SortBy",
    "SortOrder",
)
_SORT_KEYS: Final[Mapping[str, Callable[[JobState], Any]]] = {
    "Name": lambda job: job.name,
    "CreationTime": lambda job: job.created_s,
    "Status": lambda job: job.status,
}
_SECONDARY: Final = {COMPLETED: "Completed", FAILED: "Failed", STOPPED: "Stopped"}
_MESSAGES: Final = {
    "Starting": "Launching the hosts",
    "Downloading": "Laying the input data on the hosts",
    "Training": "The hosts train",
    "Completed": "Training job completed",
    "Failed": "Training job failed",
    "Stopped": "Training job stopped",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobKind:
    """What differs between training and processing jobs."""

    word: str
    """As ARNs have it."""
    prefix: str
    """Of the fields: TrainingJobName, ProcessingJobStatus, ..."""

    @property
    def describe(self) -> str:
        """The name of the operation."""
        return f"Describe{self.prefix}Job"


TRAINING: Final = JobKind(word="training-job", prefix="Training")
PROCESSING: Final = JobKind(word="processing-job", prefix="Processing")


@dataclass(frozen=True, slots=True)
class Jobs:
    """The jobs of all executions."""

    records: ExecutionRecords

    def describe(self, kind: JobKind, request: Json, region: str) -> Json:
        """Answer DescribeTrainingJob or DescribeProcessingJob."""
        job, _ = self._job(kind, request, region)
        extra = _training(job) if kind is TRAINING else _processing(job)
        return _asked_for(job, kind) | _described(job, kind) | extra

    def stop(self, kind: JobKind, request: Json, region: str) -> Json:
        """Refuse StopTrainingJob or StopProcessingJob: the simulator stops executions only."""
        job, record = self._job(kind, request, region)
        raise ServiceError(
            INVALID,
            f"{job.name} is {job.status}, and here it is stopped with its execution only: "
            f"stop-pipeline-execution --pipeline-execution-arn {record.arn}",
        )

    def _job(self, kind: JobKind, request: Json, region: str) -> tuple[JobState, ExecutionRecord]:
        """The job that a request names, and its execution."""
        name = request[f"{kind.prefix}JobName"]
        for record in self._of(region):
            job = record.state().jobs.get(name)
            if job is not None and f":{kind.word}/" in job.arn:
                return job, record
        raise ServiceError(
            NOT_FOUND,
            f"There is no {kind.word} {name} in {region}. Jobs here are steps of executions: "
            "list-pipeline-execution-steps gives their ARNs.",
        )

    def listed(self, kind: JobKind, request: Json, region: str) -> Json:
        """Answer ListTrainingJobs or ListProcessingJobs."""
        only(f"List{kind.prefix}Jobs", request, _FILTERS)
        jobs = [
            job
            for record in self._of(region)
            for job in record.state().jobs.values()
            if f":{kind.word}/" in job.arn and _passes(job, request)
        ]
        jobs.sort(
            key=_SORT_KEYS[request.get("SortBy", "CreationTime")],
            reverse=request.get("SortOrder", "Descending") == "Descending",
        )
        summaries = [_summary(job, kind) for job in jobs]
        return page_of(summaries, f"{kind.prefix}JobSummaries", request)

    def _of(self, region: str) -> list[ExecutionRecord]:
        return [record for record in self.records.all() if record.region == region]


def _passes(job: JobState, request: Json) -> bool:
    status = request.get("StatusEquals")
    return (
        request.get("NameContains", "").lower() in job.name.lower()
        and (status is None or status == job.status)
        and request.get("CreationTimeAfter", 0.0) < job.created_s
        and job.created_s < request.get("CreationTimeBefore", float("inf"))
    )


def _asked_for(job: JobState, kind: JobKind) -> Json:
    """The fields of the request that the response repeats."""
    shape = service_model().operation_model(kind.describe).output_shape
    assert shape is not None  # noqa: S101 - it describes
    return {name: value for name, value in job.request.items() if name in shape.members}


def _described(job: JobState, kind: JobKind) -> Json:
    fields = {
        "FailureReason": job.failure_reason,
        f"{kind.prefix}StartTime": job.running_s,
        f"{kind.prefix}EndTime": job.ended_s,
    }
    return {
        f"{kind.prefix}JobName": job.name,
        f"{kind.prefix}JobArn": job.arn,
        f"{kind.prefix}JobStatus": job.status,
        "CreationTime": job.created_s,
        "LastModifiedTime": job.changed_s,
        **{name: value for name, value in fields.items() if value is not None},
    }


def _processing(job: JobState) -> Json:
    message = job.properties.get("ExitMessage")
    return {"ExitMessage": message} if message else {}


def _training(job: JobState) -> Json:
    artifacts = job.properties.get("ModelArtifacts", {"S3ModelArtifacts": ""})
    seconds = {}
    if job.running_s is not None and job.ended_s is not None:
        whole = round(job.ended_s - job.running_s)
        seconds = {"TrainingTimeInSeconds": max(whole, 1), "BillableTimeInSeconds": max(whole, 1)}
    transitions = _transitions(job)
    return {
        "ModelArtifacts": artifacts,
        "SecondaryStatus": transitions[-1]["Status"],
        "SecondaryStatusTransitions": transitions,
        "FinalMetricDataList": [
            {"MetricName": name, "Value": value, "Timestamp": time_s}
            for name, (value, time_s) in job.metrics.items()
        ],
        **seconds,
    }


def _transitions(job: JobState) -> list[Json]:
    """The secondary statuses that it has had, each with its begin and end."""
    begun = [("Starting", job.created_s), ("Downloading", job.created_s)]
    if job.running_s is not None:
        begun.append(("Training", job.running_s))
    if job.ended_s is not None:
        begun.append((_SECONDARY[job.status], job.ended_s))
    elif job.status != IN_PROGRESS:
        begun.append((job.status, job.changed_s))
    documents: list[Json] = [
        {"Status": status, "StartTime": start_s, "StatusMessage": _MESSAGES.get(status, status)}
        for status, start_s in begun
    ]
    for document, following in itertools.pairwise(documents):
        document["EndTime"] = following["StartTime"]
    if job.ended_s is not None:
        documents[-1]["EndTime"] = job.ended_s
        if job.failure_reason:
            documents[-1]["StatusMessage"] = job.failure_reason
    return documents


def _summary(job: JobState, kind: JobKind) -> Json:
    described = _described(job, kind)
    fields = {"SecondaryStatus": _training(job)["SecondaryStatus"]} if kind is TRAINING else {}
    shown = ("JobName", "JobArn", "JobStatus", "EndTime")
    return {
        "CreationTime": job.created_s,
        "LastModifiedTime": job.changed_s,
        **fields,
        **{
            f"{kind.prefix}{name}": described[f"{kind.prefix}{name}"]
            for name in shown
            if f"{kind.prefix}{name}" in described
        },
    }
