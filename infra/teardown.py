"""Empties what keeps the stacks of an environment from being deleted; `make destroy` runs it first.

SageMaker deletes no model package group that has versions and no pipeline that runs; S3 deletes no
bucket that holds anything.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from infra.ownership import OwnershipError, check_stacks, left_behind, place_of, session_of
from infra.settings import Settings, SettingsError, load_settings

_POLL_S = 15
_STOP_LIMIT_S = 1_800
_EXECUTING = "Executing"
_ALIVE = (_EXECUTING, "Stopping")
_NOT_THE_STACK_S = ("CREATE_FAILED", "DELETE_COMPLETE", "DELETE_SKIPPED")
"""States of resources. What could not be made may be another's, of the same name; what deletion
left out was to stay."""
Client = Any
"""Of boto3; its stubs for these services are not worth a dependency."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What an environment holds that blocks its deletion."""

    pipelines: tuple[str, ...] = ()
    model_package_groups: tuple[str, ...] = ()
    buckets: tuple[str, ...] = ()
    """To be emptied: none where data is retained."""
    executions: tuple[str, ...] = ()
    """ARNs of those that run."""
    model_packages: tuple[str, ...] = field(default=())
    """ARNs of all versions."""

    def words(self) -> str:
        """What will be gone, for the person who is asked."""
        groups = ", ".join(self.model_package_groups) or "none"
        lines = [
            f"  {len(self.executions)} running execution(s) will be stopped",
            f"  {len(self.model_packages)} model version(s) will be deleted, groups: {groups}",
            *(f"  every version of every object in {bucket}" for bucket in self.buckets),
        ]
        return "\n".join([*lines, "  then all stacks of the environment"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Clients:
    """The services that are asked."""

    cloudformation: Client
    s3: Client
    sagemaker: Client


def contents(settings: Settings, clients: Clients) -> Contents:
    """Look at what the environment's stacks hold; a stack that is not deployed holds nothing."""
    training = _resources(clients.cloudformation, f"{settings.prefix}-training")
    storage = _resources(clients.cloudformation, f"{settings.prefix}-storage")
    pipelines = tuple(training.get("AWS::SageMaker::Pipeline", ()))
    groups = tuple(
        # Its physical id is an ARN.
        identifier.rpartition("/")[2]
        for identifier in training.get("AWS::SageMaker::ModelPackageGroup", ())
    )
    held = storage.get("AWS::S3::Bucket", ())
    data = _data_bucket(clients.cloudformation, f"{settings.prefix}-storage") if held else ()
    return Contents(
        pipelines=pipelines,
        model_package_groups=groups,
        # An output may outlive its bucket, where the stack is deleted in part.
        buckets=() if settings.storage.retain_data else tuple(one for one in data if one in held),
        executions=tuple(arn for arn, _ in _running(clients.sagemaker, pipelines)),
        model_packages=tuple(_versions(clients.sagemaker, groups)),
    )


def empty(found: Contents, clients: Clients, *, sleep: Callable[[float], None]) -> None:
    """Delete what was found.

    Args:
        found: by `contents`.
        clients: the services.
        sleep: waits that many seconds.

    Raises:
        TimeoutError: executions were told to stop and still run after half an hour.
    """
    _stop(found.pipelines, clients.sagemaker, sleep)
    # An execution may have registered one more before it stopped.
    for arn in list(_versions(clients.sagemaker, found.model_package_groups)):
        clients.sagemaker.delete_model_package(ModelPackageName=arn)
    for bucket in found.buckets:
        with _deleted_by_hand("NoSuchBucket"):
            _empty_bucket(clients.s3, bucket)


@contextmanager
def _deleted_by_hand(code: str) -> Iterator[None]:
    """Pass over what the stack has and the service, by this error, has no more."""
    try:
        yield
    except ClientError as error:
        if error.response["Error"]["Code"] != code:
            raise


def _resources(cloudformation: Client, stack: str) -> dict[str, list[str]]:
    """Type -> physical ids."""
    found: dict[str, list[str]] = {}
    try:
        pages = cloudformation.get_paginator("list_stack_resources").paginate(StackName=stack)
        for page in pages:
            for resource in page["StackResourceSummaries"]:
                identifier = resource.get("PhysicalResourceId")
                if identifier and resource["ResourceStatus"] not in _NOT_THE_STACK_S:
                    found.setdefault(resource["ResourceType"], []).append(identifier)
    except ClientError as error:
        if error.response["Error"]["Code"] != "ValidationError":  # there is no such stack
            raise
    return found


def _data_bucket(cloudformation: Client, stack: str) -> tuple[str, ...]:
    """The bucket that the stack's output names: the access logs' is kept."""
    [described] = cloudformation.describe_stacks(StackName=stack)["Stacks"]
    return tuple(
        output["OutputValue"]
        for output in described.get("Outputs", ())
        if output["OutputKey"] == "DataBucketName"
    )


def _running(sagemaker: Client, pipelines: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """ARN and status."""
    for name in pipelines:
        with _deleted_by_hand("ResourceNotFound"):
            pages = sagemaker.get_paginator("list_pipeline_executions").paginate(PipelineName=name)
            for page in pages:
                for execution in page["PipelineExecutionSummaries"]:
                    status = execution["PipelineExecutionStatus"]
                    if status in _ALIVE:
                        yield execution["PipelineExecutionArn"], status


def _versions(sagemaker: Client, groups: tuple[str, ...]) -> Iterator[str]:
    for name in groups:
        pages = sagemaker.get_paginator("list_model_packages").paginate(ModelPackageGroupName=name)
        for page in pages:
            for version in page["ModelPackageSummaryList"]:
                yield version["ModelPackageArn"]


def _stop(pipelines: tuple[str, ...], sagemaker: Client, sleep: Callable[[float], None]) -> None:
    """Stop what runs, and what a trigger starts meanwhile, until nothing does."""
    for _ in range(_STOP_LIMIT_S // _POLL_S):
        running = list(_running(sagemaker, pipelines))
        if not running:
            return
        for arn, status in running:
            if status == _EXECUTING:
                _tell_to_stop(arn, sagemaker)
        sleep(_POLL_S)
    left = [arn for arn, _ in running]
    raise TimeoutError(
        f"{', '.join(left)} still running after {_STOP_LIMIT_S} s. Look at it in SageMaker Studio, "
        "then run make destroy again: nothing was deleted."
    )


def _tell_to_stop(arn: str, sagemaker: Client) -> None:
    try:
        sagemaker.stop_pipeline_execution(PipelineExecutionArn=arn)
    except ClientError as error:
        # It ended since it was listed: the next list knows.
        if error.response["Error"]["Code"] not in ("ConflictException", "ValidationException"):
            raise


def _empty_bucket(s3: Client, bucket: str) -> None:
    for page in s3.get_paginator("list_object_versions").paginate(Bucket=bucket):
        doomed = [
            {"Key": one["Key"], "VersionId": one["VersionId"]}
            for kind in ("Versions", "DeleteMarkers")
            for one in page.get(kind, ())
        ]
        if doomed:
            answer = s3.delete_objects(Bucket=bucket, Delete={"Objects": doomed, "Quiet": True})
            for problem in answer.get("Errors", ()):
                raise RuntimeError(
                    f"s3://{bucket}/{problem['Key']}: {problem['Code']}. Delete it by hand, then "
                    "run make destroy again."
                )


def _teardown(settings: Settings) -> int:
    session = session_of(settings, os.environ)
    place = place_of(session, settings)
    clients = Clients(
        cloudformation=session.client("cloudformation"),
        s3=session.client("s3"),
        sagemaker=session.client("sagemaker"),
    )
    stacks = check_stacks(clients.cloudformation, settings, place)
    found = contents(settings, clients)
    sys.stdout.write(f"To delete {settings.prefix} in {place.words()}:\n{found.words()}\n")
    sys.stdout.write(left_behind(settings, stacks, place))
    if input(f"Type {settings.prefix} to go on: ") != settings.prefix:
        sys.stdout.write("Nothing was deleted.\n")
        return 1
    empty(found, clients, sleep=time.sleep)
    return 0


def main(arguments: list[str]) -> int:
    """Ask, then empty. 0: done; 1: not confirmed, or not ours; 2: no such environment."""
    parser = argparse.ArgumentParser(prog="infra.teardown", description=__doc__)
    parser.add_argument("environment", help="a file of config/, without .toml")
    try:
        return _teardown(load_settings(parser.parse_args(arguments).environment))
    except SettingsError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except (OwnershipError, ClientError, BotoCoreError, RuntimeError, TimeoutError) as error:
        sys.stderr.write(f"{error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
