"""What starts executions without a person, and what happens when it cannot."""

import json
from typing import Any

import pytest

from infra.settings import Settings
from tests.synth.conftest import Assembly
from tests.synth.variants import settings_with, synthesized

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def scheduled(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """One pipeline by the clock, the other by data."""
    settings = settings_with(
        {
            "triggers": {
                "on_dataset": ("tensorflow",),
                "on_schedule": ("pytorch",),
                "schedule": "cron(0 3 ? * MON *)",
            }
        }
    )
    return synthesized(settings, tmp_path_factory.mktemp("scheduled"))


def rule(assembly: Assembly, name: str) -> dict[str, Any]:
    found: dict[str, Any]
    [found] = [
        one["Properties"]
        for one in assembly.resources("Operations", "AWS::Events::Rule")
        if one["Properties"]["Name"].endswith(f"-{name}")
    ]
    return found


def pipelines(rule: dict[str, Any]) -> list[str]:
    return [
        json.dumps(target["Arn"]).rpartition(":pipeline/")[2][:-4] for target in rule["Targets"]
    ]


def test_a_published_data_set_starts_every_pipeline_of_prod(prod_assembly: Assembly) -> None:
    found = rule(prod_assembly, "dataset-published")
    assert pipelines(found) == ["evenshard-prod-pytorch", "evenshard-prod-tensorflow"]
    assert found["EventPattern"]["source"] == ["evenshard"]
    assert found["EventPattern"]["detail-type"] == ["Dataset published"]


def test_what_an_event_names_becomes_the_execution_s_data(prod_assembly: Assembly) -> None:
    declared = {one["Name"] for one in prod_assembly.definition()["Parameters"]}
    for target in rule(prod_assembly, "dataset-published")["Targets"]:
        given = target["SageMakerPipelineParameters"]["PipelineParameterList"]
        assert {one["Name"]: one["Value"] for one in given} == {
            "TrainDataUri": "$.detail.train_uri",
            "ValidationDataUri": "$.detail.validation_uri",
            "TestDataUri": "$.detail.test_uri",
        }
        assert {one["Name"] for one in given} <= declared


def test_only_data_of_the_own_bucket_starts_anything(prod_assembly: Assembly) -> None:
    detail = rule(prod_assembly, "dataset-published")["EventPattern"]["detail"]
    assert set(detail) == {"train_uri", "validation_uri", "test_uri"}
    for [condition] in detail.values():
        [scheme, bucket, folder] = condition["prefix"]["Fn::Join"][1]
        assert (scheme, folder) == ("s3://", "/data/")
        assert "RefData666C94C7" in bucket["Fn::ImportValue"]


def test_the_clock_starts_with_the_defaults(scheduled: Assembly) -> None:
    found = rule(scheduled, "schedule")
    assert found["ScheduleExpression"] == "cron(0 3 ? * MON *)"
    assert pipelines(found) == ["evenshard-dev-pytorch"]
    assert "SageMakerPipelineParameters" not in found["Targets"][0]
    assert pipelines(rule(scheduled, "dataset-published")) == ["evenshard-dev-tensorflow"]


def test_a_start_that_fails_is_tried_again_and_then_kept(scheduled: Assembly) -> None:
    [queue] = scheduled.resources("Operations", "AWS::SQS::Queue")
    assert queue["Properties"]["SqsManagedSseEnabled"] is True
    assert queue["Properties"]["MessageRetentionPeriod"] == 14 * 24 * 3600
    for name in ("schedule", "dataset-published"):
        [target] = rule(scheduled, name)["Targets"]
        assert target["RetryPolicy"] == {
            "MaximumEventAgeInSeconds": 3600,
            "MaximumRetryAttempts": 20,
        }
        assert target["DeadLetterConfig"]["Arn"]["Fn::GetAtt"][0].startswith("TriggersLostStarts")


def test_only_these_rules_fill_the_queue(scheduled: Assembly) -> None:
    [policy] = scheduled.resources("Operations", "AWS::SQS::QueuePolicy")
    statements = policy["Properties"]["PolicyDocument"]["Statement"]
    [allowed] = [one for one in statements if one["Effect"] == "Allow"]
    assert allowed["Principal"] == {"Service": "events.amazonaws.com"}
    assert allowed["Action"] == "sqs:SendMessage"
    sources = json.dumps(allowed["Condition"]["ArnLike"]["aws:SourceArn"])
    assert "rule/evenshard-dev-dataset-published" in sources
    assert "rule/evenshard-dev-schedule" in sources
    [denied] = [one for one in statements if one["Effect"] == "Deny"]
    assert denied["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_where_nothing_triggers_there_is_no_trigger(assembly: Assembly) -> None:
    assert assembly.resources("Operations", "AWS::SQS::Queue") == []
    assert assembly.resources("Operations", "AWS::IAM::Role") == []
    names = [
        one["Properties"]["Name"] for one in assembly.resources("Operations", "AWS::Events::Rule")
    ]
    assert names == ["evenshard-dev-step-failed", "evenshard-dev-execution-ended"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"triggers.schedule": "rate(7 days)"}, "on_schedule is []. Give both, or leave"),
        ({"triggers.on_schedule": ("pytorch",)}, "schedule is None"),
        (
            {"triggers.on_schedule": ("pytorch",), "triggers.schedule": "every Monday"},
            "'every Monday' is no schedule. Allowed: rate(7 days)",
        ),
        (
            {"triggers.on_schedule": ("pytorch",), "triggers.schedule": "cron(0 3 * * *)"},
            "is no schedule",
        ),
        ({"triggers.on_dataset": ("pytorch", "pytorch")}, "named twice"),
        ({"triggers.on_dataset": ("jax",)}, "'pytorch' or 'tensorflow'"),
        (
            {"triggers.on_dataset": ("tensorflow",), "frameworks": ("pytorch",)},
            "triggers.on_dataset names tensorflow, which frameworks does not. Allowed: pytorch.",
        ),
        ({"notifications.emails": ("nobody",)}, "should match pattern"),
        ({"budget.monthly_usd": 0}, "greater than or equal to 1"),
        ({"tags": {"aws:owner": "me"}}, "should match pattern"),
        ({"tags": {"owner": "me;you"}}, "should match pattern"),
    ],
)
def test_settings_that_cannot_work_are_refused(changes: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match="validation error") as refused:
        settings_with(changes)
    assert said in str(refused.value)


def test_a_schedule_has_its_pipelines() -> None:
    settings = settings_with(
        {"triggers.on_schedule": ("pytorch",), "triggers.schedule": "rate(1 day)"}
    )
    assert isinstance(settings, Settings)
