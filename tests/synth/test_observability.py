"""Who is told what, and where one sees it."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.synth.conftest import REPOSITORY_ROOT, Assembly
from tests.synth.variants import settings_with, synthesized
from training.contract.metrics import EPOCH_METRICS
from training.shards import preflight as preflight_module
from training.shards.request import PreflightError

pytestmark = pytest.mark.timeout(300)

OPERATIONS = (REPOSITORY_ROOT / "docs" / "operations.md").read_text(encoding="utf-8")


def properties(assembly: Assembly, kind: str) -> list[dict[str, Any]]:
    return [found["Properties"] for found in assembly.resources("Operations", kind)]


def alarms(assembly: Assembly) -> dict[str, dict[str, Any]]:
    return {
        one["AlarmName"].removeprefix("evenshard-prod-"): one
        for one in properties(assembly, "AWS::CloudWatch::Alarm")
    }


def widgets(assembly: Assembly) -> Iterator[dict[str, Any]]:
    [dashboard] = properties(assembly, "AWS::CloudWatch::Dashboard")
    body = "".join(
        part if isinstance(part, str) else "REGION"
        for part in dashboard["DashboardBody"]["Fn::Join"][1]
    )
    yield from json.loads(body)["widgets"]


DETAIL = {
    "stepName": "Train",
    "currentStepStatus": "Failed",
    "currentPipelineExecutionStatus": "Failed",
    "pipelineExecutionArn": "arn:aws:sagemaker:eu-west-1:123456789012:pipeline/p/execution/abc",
    "failureReason": 'AlgorithmError: line 17: "text" is missing\nSee C:\\logs',
}
"""Of an event: its reason is a program's."""


def messages(assembly: Assembly) -> dict[str, dict[str, Any]]:
    """What the rules of failures say of such an event, as EventBridge is documented to do it."""
    found = {}
    for rule in properties(assembly, "AWS::Events::Rule"):
        for target in rule["Targets"]:
            if "InputTransformer" in target:
                text = transformed(target["InputTransformer"], {"detail": DETAIL})
                found[rule["Name"].removeprefix("evenshard-prod-")] = json.loads(text)
    return found


def transformed(transformer: dict[str, Any], event: dict[str, Any]) -> str:
    text: str = transformer["InputTemplate"]
    for name, path in transformer["InputPathsMap"].items():
        value: Any = event
        for key in path.removeprefix("$.").split("."):
            value = value[key]
        # Quotes around texts, nothing escaped inside; objects as JSON.
        written = f'"{value}"' if isinstance(value, str) else json.dumps(value)
        assert f"<{name}>" in text
        text = text.replace(f"<{name}>", written)
    return text


def test_a_failed_step_is_told_with_its_reason(prod_assembly: Assembly) -> None:
    message = messages(prod_assembly)["step-failed"]
    assert message["step"] == "Train"
    assert message["details"]["failureReason"] == DETAIL["failureReason"]
    assert message["what"] == "A step of a training pipeline failed"


def test_an_execution_that_ended_is_told_with_its_status(prod_assembly: Assembly) -> None:
    message = messages(prod_assembly)["execution-ended"]
    assert message["status"] == "Failed"
    assert message["execution"] == DETAIL["pipelineExecutionArn"]
    assert message["details"] == DETAIL


def test_messages_name_a_heading_that_exists(prod_assembly: Assembly) -> None:
    found = messages(prod_assembly)
    assert set(found) == {"step-failed", "execution-ended"}
    for message in found.values():
        [heading] = re.findall(r"^docs/operations\.md, '(.+)'$", message["what to do"])
        assert f"\n## {heading}\n" in OPERATIONS


def test_only_our_pipelines_are_told_of(prod_assembly: Assembly) -> None:
    for rule in properties(prod_assembly, "AWS::Events::Rule"):
        pattern = rule["EventPattern"]
        if pattern["source"] != ["aws.sagemaker"]:
            continue
        arns = json.dumps(pattern["detail"]["pipelineArn"])
        assert "pipeline/evenshard-prod-pytorch" in arns
        assert "pipeline/evenshard-prod-tensorflow" in arns
        status = [value for key, value in pattern["detail"].items() if key.startswith("current")]
        assert status in ([["Failed"]], [["Failed", "Stopped"]])


def test_every_alarm_publishes_and_is_explained(prod_assembly: Assembly) -> None:
    found = alarms(prod_assembly)
    assert set(found) == {
        "pytorch-execution-failed",
        "tensorflow-execution-failed",
        "preflight-refused",
        "start-lost",
    }
    for name, alarm in found.items():
        [action] = alarm["AlarmActions"]
        assert action["Ref"].startswith("FailuresTopic")
        assert alarm["TreatMissingData"] == "notBreaching"
        assert alarm["Threshold"] == 1
        explained = name.replace("pytorch", "FRAMEWORK").replace("tensorflow", "FRAMEWORK")
        assert f"`PREFIX-{explained}`" in OPERATIONS


def test_failed_executions_are_counted_by_pipeline(prod_assembly: Assembly) -> None:
    [queried] = alarms(prod_assembly)["pytorch-execution-failed"]["Metrics"]
    assert queried["MetricStat"]["Stat"] == "Sum"
    assert queried["MetricStat"]["Metric"] == {
        "Namespace": "AWS/Sagemaker/ModelBuildingPipeline",
        "MetricName": "ExecutionFailed",
        "Dimensions": [{"Name": "PipelineName", "Value": "evenshard-prod-pytorch"}],
    }


def test_refusals_are_found_in_the_function_s_log(
    prod_assembly: Assembly, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    [log_filter] = properties(prod_assembly, "AWS::Logs::MetricFilter")
    [transformation] = log_filter["MetricTransformations"]
    alarm = alarms(prod_assembly)["preflight-refused"]
    assert alarm["MetricName"] == transformation["MetricName"] == "evenshard-prod-preflight-refused"
    assert alarm["Namespace"] == transformation["MetricNamespace"]
    assert "PreflightLog" in json.dumps(log_filter["LogGroupName"])
    # What the function really logs contains the phrase that the filter looks for.
    monkeypatch.setattr(preflight_module, "_list_s3", lambda: None)
    with pytest.raises(PreflightError):
        preflight_module.handler({"train_data_uri": "nonsense"}, None)
    phrase = log_filter["FilterPattern"]
    assert phrase.startswith('"')
    assert phrase.strip('"') in caplog.text


def test_the_topic_is_encrypted_and_admits_three_services(prod_assembly: Assembly) -> None:
    [topic] = properties(prod_assembly, "AWS::SNS::Topic")
    [key] = properties(prod_assembly, "AWS::KMS::Key")
    assert topic["KmsMasterKeyId"]["Fn::GetAtt"][0].startswith("FailuresKey")
    assert key["EnableKeyRotation"] is True
    [policy] = properties(prod_assembly, "AWS::SNS::TopicPolicy")
    admitted = {}
    for statement in policy["PolicyDocument"]["Statement"]:
        if statement["Effect"] == "Deny":
            assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
            continue
        assert statement["Action"] == "sns:Publish"
        assert "aws:SourceAccount" in statement["Condition"]["StringEquals"]
        service = statement["Principal"]["Service"]
        admitted[service] = json.dumps(statement["Condition"].get("ArnLike", {}))
    assert ":alarm:evenshard-prod-*" in admitted["cloudwatch.amazonaws.com"]
    assert ":rule/evenshard-prod-*" in admitted["events.amazonaws.com"]
    assert set(admitted) == {
        "budgets.amazonaws.com",
        "cloudwatch.amazonaws.com",
        "events.amazonaws.com",
    }
    # Each of them may use the key, without which it could not publish.
    [with_key] = [
        statement["Principal"]["Service"]
        for statement in key["KeyPolicy"]["Statement"]
        if statement["Action"] == ["kms:Decrypt", "kms:GenerateDataKey"]
    ]
    assert set(with_key) == set(admitted)


def test_the_dashboard_shows_pipelines_and_every_training_metric(prod_assembly: Assembly) -> None:
    text = json.dumps(list(widgets(prod_assembly)))
    for metric in (*(one.name for one in EPOCH_METRICS), "GPUUtilization", "ExecutionFailed"):
        assert metric in text, f"{metric} is not shown"
    for pipeline in ("evenshard-prod-pytorch", "evenshard-prod-tensorflow"):
        assert pipeline in text
    searches = re.findall(r"SEARCH\('\{/aws/sagemaker/TrainingJobs,(\w+)\}", text)
    assert set(searches) == {"TrainingJobName", "Host"}


@pytest.mark.parametrize("stack", ["Storage", "Network", "Training", "Operations"])
def test_only_our_own_logs_are_ours_to_delete(prod_assembly: Assembly, stack: str) -> None:
    kinds = {one["Type"] for one in prod_assembly.template(stack)["Resources"].values()}
    assert not [kind for kind in kinds if kind.startswith("Custom::")]
    for group in prod_assembly.resources(stack, "AWS::Logs::LogGroup"):
        assert group["Properties"]["RetentionInDays"] in (90, 365)
        # A fixed name could be that of a group which SageMaker keeps for all its jobs.
        assert "LogGroupName" not in group["Properties"]


def test_the_budget_follows_the_tag_in_one_partition_only(prod_assembly: Assembly) -> None:
    [found] = prod_assembly.resources("Operations", "AWS::Budgets::Budget")
    conditions = prod_assembly.template("Operations")["Conditions"]
    assert conditions[found["Condition"]] == {"Fn::Equals": [{"Ref": "AWS::Partition"}, "aws"]}
    budget = found["Properties"]["Budget"]
    assert budget["BudgetLimit"] == {"Amount": 20000, "Unit": "USD"}
    assert budget["CostFilters"] == {"TagKeyValue": ["user:evenshard:environment$evenshard-prod"]}


def test_jobs_and_stacks_carry_the_tags(tmp_path_factory: pytest.TempPathFactory) -> None:
    settings = settings_with(
        {"tags": {"owner": "vision"}, "budget": {}, "notifications.emails": ("a@example.com",)}
    )
    assembly = synthesized(settings, tmp_path_factory.mktemp("tagged"))
    expected = [
        {"Key": "evenshard:environment", "Value": "evenshard-dev"},
        {"Key": "owner", "Value": "vision"},
    ]
    for framework in settings.frameworks:
        for step in ("Train", "Evaluate"):
            assert assembly.step(step, framework)["Tags"] == expected
    manifest = json.loads((assembly.path / "manifest.json").read_text())["artifacts"]
    for name in ("Storage", "Training", "Operations"):
        assert manifest[name]["properties"]["tags"] == {
            one["Key"]: one["Value"] for one in expected
        }
    assert assembly.resources("Operations", "AWS::Budgets::Budget") == []
    [subscription] = properties(assembly, "AWS::SNS::Subscription")
    assert (subscription["Protocol"], subscription["Endpoint"]) == ("email", "a@example.com")
