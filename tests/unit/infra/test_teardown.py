"""What `make destroy` deletes before the stacks."""

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from infra import teardown
from infra.ownership import OwnershipError, Place
from infra.settings import load_settings
from infra.teardown import Clients, Contents, contents, empty

ACCOUNT = "arn:aws:sagemaker:us-east-1:123456789012"
HERE = Place(account="123456789012", region="eu-west-1")
EXECUTION = f"{ACCOUNT}:pipeline/evenshard-dev-pytorch/execution/abc"
VERSION = f"{ACCOUNT}:model-package/evenshard-dev-pytorch/1"
FOUND = Contents(
    pipelines=("evenshard-dev-pytorch",),
    model_package_groups=("evenshard-dev-pytorch",),
    buckets=("data",),
    executions=(EXECUTION,),
    model_packages=(VERSION,),
)


class Stubs:
    """The three services, answering what a test queues."""

    def __init__(self) -> None:
        made = {
            name: boto3.client(
                name,
                region_name="us-east-1",
                aws_access_key_id="x",
                aws_secret_access_key="x",  # noqa: S106 - nothing is called
            )
            for name in ("cloudformation", "s3", "sagemaker")
        }
        self.clients = Clients(**made)
        self.of = {name: Stubber(client) for name, client in made.items()}


@pytest.fixture
def stubs() -> Iterator[Stubs]:
    made = Stubs()
    for stub in made.of.values():
        stub.activate()
    yield made
    for stub in made.of.values():
        stub.assert_no_pending_responses()


def resources(*found: tuple[str, str], status: str = "CREATE_COMPLETE") -> dict[str, Any]:
    return {
        "StackResourceSummaries": [
            {
                "LogicalResourceId": f"R{number}",
                "ResourceType": kind,
                "PhysicalResourceId": identifier,
                "ResourceStatus": status,
                "LastUpdatedTimestamp": "2026-01-01",
            }
            for number, (kind, identifier) in enumerate(found)
        ]
    }


def executions(*statuses: str) -> dict[str, Any]:
    return {
        "PipelineExecutionSummaries": [
            {"PipelineExecutionArn": f"{EXECUTION}{number or ''}", "PipelineExecutionStatus": one}
            for number, one in enumerate(statuses)
        ]
    }


def queue_outputs(stubs: Stubs) -> None:
    """Queue the names of the storage stack's buckets."""
    stubs.of["cloudformation"].add_response(
        "describe_stacks",
        {
            "Stacks": [
                {
                    "StackName": "evenshard-dev-storage",
                    "CreationTime": "2026-01-01",
                    "StackStatus": "CREATE_COMPLETE",
                    "Outputs": [
                        {"OutputKey": "DataBucketName", "OutputValue": "data"},
                        {"OutputKey": "AccessLogsBucketName", "OutputValue": "logs"},
                    ],
                }
            ]
        },
    )


def queue_versions(stubs: Stubs) -> None:
    """Queue the one version of the group."""
    stubs.of["sagemaker"].add_response(
        "list_model_packages",
        {
            "ModelPackageSummaryList": [
                {
                    "ModelPackageArn": VERSION,
                    "CreationTime": "2026-01-01",
                    "ModelPackageStatus": "Completed",
                }
            ]
        },
        {"ModelPackageGroupName": "evenshard-dev-pytorch"},
    )


def queue_lookup(stubs: Stubs) -> None:
    """Queue what an environment with one pipeline answers."""
    stacks = stubs.of["cloudformation"]
    stacks.add_response(
        "list_stack_resources",
        resources(
            ("AWS::SageMaker::Pipeline", "evenshard-dev-pytorch"),
            (
                "AWS::SageMaker::ModelPackageGroup",
                f"{ACCOUNT}:model-package-group/evenshard-dev-pytorch",
            ),
            ("AWS::IAM::Role", "role"),
        ),
        {"StackName": "evenshard-dev-training"},
    )
    stacks.add_response(
        "list_stack_resources",
        resources(("AWS::S3::Bucket", "data"), ("AWS::S3::Bucket", "logs")),
        {"StackName": "evenshard-dev-storage"},
    )
    queue_outputs(stubs)
    stubs.of["sagemaker"].add_response(
        "list_pipeline_executions", executions("Executing", "Succeeded")
    )
    queue_versions(stubs)


def test_finds_what_blocks_a_deletion(stubs: Stubs) -> None:
    queue_lookup(stubs)
    assert contents(load_settings("dev"), stubs.clients) == FOUND


def test_retained_data_is_left_alone(stubs: Stubs) -> None:
    queue_lookup(stubs)
    values = load_settings("dev").model_dump()
    values["storage"]["retain_data"] = True
    found = contents(type(load_settings("dev")).model_validate(values), stubs.clients)
    assert found.buckets == ()
    assert "every version" not in found.words()


@pytest.mark.parametrize("status", ["CREATE_FAILED", "DELETE_COMPLETE", "DELETE_SKIPPED"])
def test_what_is_not_the_stack_s_is_left_alone(stubs: Stubs, status: str) -> None:
    """A stack that failed half-way may name things that others made, or that are gone."""
    stacks = stubs.of["cloudformation"]
    stacks.add_response(
        "list_stack_resources",
        resources(
            ("AWS::SageMaker::Pipeline", "evenshard-dev-pytorch"),
            ("AWS::SageMaker::ModelPackageGroup", "evenshard-dev-pytorch"),
            status=status,
        ),
    )
    stacks.add_response(
        "list_stack_resources", resources(("AWS::S3::Bucket", "data"), status=status)
    )
    assert contents(load_settings("dev"), stubs.clients) == Contents()


def test_an_output_may_outlive_its_bucket(stubs: Stubs) -> None:
    stacks = stubs.of["cloudformation"]
    stacks.add_client_error("list_stack_resources", "ValidationError")
    stacks.add_response("list_stack_resources", resources(("AWS::S3::Bucket", "logs")))
    queue_outputs(stubs)
    assert contents(load_settings("dev"), stubs.clients).buckets == ()


def test_what_is_not_deployed_holds_nothing(stubs: Stubs) -> None:
    for _ in ("training", "storage"):
        stubs.of["cloudformation"].add_client_error("list_stack_resources", "ValidationError")
    assert contents(load_settings("dev"), stubs.clients) == Contents()


def test_stops_waits_deletes_versions_and_empties(stubs: Stubs) -> None:
    sagemaker, s3 = stubs.of["sagemaker"], stubs.of["s3"]
    sagemaker.add_response("list_pipeline_executions", executions("Executing"))
    sagemaker.add_response(
        "stop_pipeline_execution",
        {"PipelineExecutionArn": EXECUTION},
        {"PipelineExecutionArn": EXECUTION},
    )
    sagemaker.add_response("list_pipeline_executions", executions("Stopping"))
    sagemaker.add_response("list_pipeline_executions", executions("Stopped"))
    # Registered by the execution, after it was told to stop.
    queue_versions(stubs)
    sagemaker.add_response("delete_model_package", {}, {"ModelPackageName": VERSION})
    s3.add_response(
        "list_object_versions",
        {
            "Versions": [{"Key": "a", "VersionId": "1"}, {"Key": "a", "VersionId": "2"}],
            "DeleteMarkers": [{"Key": "b", "VersionId": "3"}],
        },
    )
    s3.add_response(
        "delete_objects",
        {},
        {
            "Bucket": "data",
            "Delete": {
                "Objects": [
                    {"Key": "a", "VersionId": "1"},
                    {"Key": "a", "VersionId": "2"},
                    {"Key": "b", "VersionId": "3"},
                ],
                "Quiet": True,
            },
        },
    )
    slept: list[float] = []
    found = replace(FOUND, model_packages=())
    empty(found, stubs.clients, sleep=slept.append)
    assert slept == [15, 15]


def test_what_a_trigger_starts_meanwhile_is_stopped_too(stubs: Stubs) -> None:
    sagemaker = stubs.of["sagemaker"]
    sagemaker.add_response("list_pipeline_executions", executions("Executing"))
    # It ended between the two calls.
    sagemaker.add_client_error("stop_pipeline_execution", "ConflictException")
    sagemaker.add_response("list_pipeline_executions", executions("Stopped", "Executing"))
    sagemaker.add_response(
        "stop_pipeline_execution",
        {"PipelineExecutionArn": f"{EXECUTION}1"},
        {"PipelineExecutionArn": f"{EXECUTION}1"},
    )
    sagemaker.add_response("list_pipeline_executions", executions("Stopped", "Stopped"))
    found = Contents(pipelines=("evenshard-dev-pytorch",))
    empty(found, stubs.clients, sleep=lambda _seconds: None)


def test_nothing_is_deleted_while_something_runs(
    stubs: Stubs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(teardown, "_STOP_LIMIT_S", 30)
    sagemaker = stubs.of["sagemaker"]
    for _ in range(2):
        sagemaker.add_response("list_pipeline_executions", executions("Stopping"))
    with pytest.raises(TimeoutError, match="nothing was deleted"):
        empty(FOUND, stubs.clients, sleep=lambda _seconds: None)


def test_what_was_deleted_by_hand_is_passed_over(stubs: Stubs) -> None:
    stubs.of["sagemaker"].add_client_error("list_pipeline_executions", "ResourceNotFound")
    stubs.of["s3"].add_client_error("list_object_versions", "NoSuchBucket")
    found = Contents(pipelines=("evenshard-dev-pytorch",), buckets=("data",))
    empty(found, stubs.clients, sleep=lambda _seconds: None)


def test_a_denied_list_is_no_empty_one(stubs: Stubs) -> None:
    stubs.of["sagemaker"].add_client_error("list_pipeline_executions", "AccessDeniedException")
    with pytest.raises(ClientError, match="AccessDenied"):
        empty(FOUND, stubs.clients, sleep=lambda _seconds: None)


def test_an_object_that_stays_is_named(stubs: Stubs) -> None:
    s3 = stubs.of["s3"]
    s3.add_response("list_object_versions", {"Versions": [{"Key": "a", "VersionId": "1"}]})
    s3.add_response("delete_objects", {"Errors": [{"Key": "a", "Code": "AccessDenied"}]})
    with pytest.raises(RuntimeError, match="s3://data/a: AccessDenied"):
        empty(Contents(buckets=("data",)), stubs.clients, sleep=lambda _seconds: None)


@pytest.fixture
def emptied(monkeypatch: pytest.MonkeyPatch) -> list[Contents]:
    """What `main` empties: nothing is called, whoever's credentials there are."""
    found: list[Contents] = []
    session = SimpleNamespace(client=lambda _name: None, region_name="eu-west-1")
    monkeypatch.setattr(teardown, "session_of", lambda _settings, _variables: session)
    monkeypatch.setattr(teardown, "place_of", lambda _session, _settings: HERE)
    monkeypatch.setattr(teardown, "check_stacks", lambda *_: ["evenshard-dev-network"])
    monkeypatch.setattr(teardown, "contents", lambda _settings, _clients: FOUND)
    monkeypatch.setattr(teardown, "empty", lambda one, _clients, **_: found.append(one))
    return found


@pytest.mark.parametrize(("typed", "done"), [("evenshard-dev", True), ("yes", False)])
def test_asks_first(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    emptied: list[Contents],
    typed: str,
    *,
    done: bool,
) -> None:
    monkeypatch.setattr("builtins.input", lambda _question: typed)
    assert teardown.main(["dev"]) == (0 if done else 1)
    assert emptied == ([FOUND] if done else [])
    said = capsys.readouterr().out
    assert said.startswith("To delete evenshard-dev in account 123456789012, region eu-west-1:\n")
    assert "1 running execution(s) will be stopped" in said
    assert "every version of every object in data" in said
    # dev has no network: `cdk destroy` knows nothing of a stack from before.
    assert "delete-stack --region eu-west-1 --stack-name evenshard-dev-network" in said


def test_what_is_not_ours_is_not_touched(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], emptied: list[Contents]
) -> None:
    def refuse(*_: object) -> list[str]:
        raise OwnershipError("stack evenshard-dev-network is not Evenshard's")

    monkeypatch.setattr(teardown, "check_stacks", refuse)
    assert teardown.main(["dev"]) == 1
    assert "is not Evenshard's" in capsys.readouterr().err
    assert emptied == []


def test_an_unknown_environment_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert teardown.main(["staging"]) == 2
    assert "no environment called 'staging'" in capsys.readouterr().err
