"""Who is told what, and where one sees it."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import pytest

from tests.synth.conftest import REPOSITORY_ROOT, Assembly
from tests.synth.variants import DIGEST, settings_with, synthesized
from training.contract.metrics import EPOCH_METRICS
from training.shards import preflight as preflight_module
from training.shards.request import PreflightError

pytestmark = pytest.mark.timeout(300)

PUBLISHING: Final = ("AWS::SNS::TopicPolicy", "PolicyDocument", "sns:Publish")
ENCRYPTING: Final = ("AWS::KMS::Key", "KeyPolicy", ["kms:Decrypt", "kms:GenerateDataKey"])
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


def test_alarms_name_a_heading_that_exists(prod_assembly: Assembly) -> None:
    for alarm in alarms(prod_assembly).values():
        description = alarm["AlarmDescription"]
        [heading] = re.findall(r"What to do: docs/operations\.md, '(.+)'\.$", description)
        assert f"\n## {heading}\n" in OPERATIONS


def test_who_is_called_is_told_where_to_read(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whoever has a mail at night may have no repository."""
    address = "https://wiki.example/evenshard/operations"
    settings = settings_with({"notifications.runbook": address}, environment="prod")
    assembly = synthesized(settings, tmp_path_factory.mktemp("runbook"))
    for message in messages(assembly).values():
        assert message["what to do"] == f"{address}, 'When a step fails'"
    for alarm in alarms(assembly).values():
        assert f"What to do: {address}, 'Alarms'" in alarm["AlarmDescription"]
    assert "docs/operations.md" not in json.dumps(assembly.template("Operations"))


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
        "step-failed-untold",
        "execution-ended-untold",
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


def admitted(assembly: Assembly, kind: str, document: str, action: object) -> dict[str, Any]:
    """Service -> condition, None for none, of those that a resource's policy lets act."""
    [found] = properties(assembly, kind)
    conditions = {}
    for statement in found[document]["Statement"]:
        if statement["Effect"] == "Allow" and statement["Action"] == action:
            services = statement["Principal"]["Service"]
            for service in [services] if isinstance(services, str) else services:
                conditions[service] = statement.get("Condition")
    return conditions


def test_the_topic_is_encrypted_and_admits_three_services(prod_assembly: Assembly) -> None:
    [topic] = properties(prod_assembly, "AWS::SNS::Topic")
    [key] = properties(prod_assembly, "AWS::KMS::Key")
    assert topic["KmsMasterKeyId"]["Fn::GetAtt"][0].startswith("FailuresKey")
    assert key["EnableKeyRotation"] is True
    [policy] = properties(prod_assembly, "AWS::SNS::TopicPolicy")
    [denied] = [one for one in policy["PolicyDocument"]["Statement"] if one["Effect"] == "Deny"]
    assert denied["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    publishers = admitted(prod_assembly, *PUBLISHING)
    assert set(publishers) == {
        "budgets.amazonaws.com",
        "cloudwatch.amazonaws.com",
        "events.amazonaws.com",
    }
    assert ":alarm:evenshard-prod-*" in json.dumps(publishers["cloudwatch.amazonaws.com"])
    # Each of them may use the key, without which it could not publish.
    encrypting = admitted(prod_assembly, *ENCRYPTING)
    assert set(encrypting) == set(publishers)
    for service in ("budgets.amazonaws.com", "cloudwatch.amazonaws.com"):
        for condition in (publishers[service], encrypting[service]):
            assert "aws:SourceAccount" in condition["StringEquals"]


def test_no_condition_stops_what_eventbridge_publishes(prod_assembly: Assembly) -> None:
    # It sends no source along, neither to the topic nor to the key. Source: docs/facts.md 8.
    for policy in (PUBLISHING, ENCRYPTING):
        assert admitted(prod_assembly, *policy)["events.amazonaws.com"] is None


@pytest.mark.parametrize(
    "changes", [{"budget": {}}, {"target": {"region": "us-gov-west-1"}}], ids=["none", "gov"]
)
def test_budgets_are_admitted_where_there_is_one(
    tmp_path_factory: pytest.TempPathFactory, changes: dict[str, Any]
) -> None:
    # A key's policy may name no service that the partition does not have.
    images = {
        f"{name}.image.uri": f"123456789012.dkr.ecr.us-gov-west-1.amazonaws.com/t@{DIGEST}"
        for name in ("pytorch", "tensorflow")
    }
    settings = settings_with({**images, **changes})
    assembly = synthesized(settings, tmp_path_factory.mktemp("no-budget"))
    assert assembly.resources("Operations", "AWS::Budgets::Budget") == []
    for policy in (PUBLISHING, ENCRYPTING):
        assert "budgets.amazonaws.com" not in admitted(assembly, *policy)


def test_a_message_that_cannot_be_published_is_told_by_an_alarm(prod_assembly: Assembly) -> None:
    rules = {one["Name"] for one in properties(prod_assembly, "AWS::Events::Rule")}
    for name in ("step-failed", "execution-ended"):
        alarm = alarms(prod_assembly)[f"{name}-untold"]
        assert (alarm["Namespace"], alarm["MetricName"]) == ("AWS/Events", "FailedInvocations")
        [dimension] = alarm["Dimensions"]
        assert dimension == {"Name": "RuleName", "Value": f"evenshard-prod-{name}"}
        assert dimension["Value"] in rules


def test_the_dashboard_shows_pipelines_and_every_training_metric(prod_assembly: Assembly) -> None:
    text = json.dumps(list(widgets(prod_assembly)))
    for metric in (*(one.name for one in EPOCH_METRICS), "GPUUtilization", "ExecutionFailed"):
        assert metric in text, f"{metric} is not shown"
    for pipeline in ("evenshard-prod-pytorch", "evenshard-prod-tensorflow"):
        assert pipeline in text
    searches = re.findall(r"SEARCH\('(.+?)', 'Average', 60\)", text.replace("\\", ""))
    assert len(searches) == 8
    job = "pipelines-a1b2c3d4e5f6-Train-x7Y8z9"
    for search in searches:
        dimension, name = re.findall(r',(\w+)} MetricName="([\w:]+)"', search)[0]
        value = {"TrainingJobName": job, "Host": f"{job}/algo-1"}[dimension]
        assert finds(search, Metric("/aws/sagemaker/TrainingJobs", name, dimension, value))
        assert not finds(search, Metric("/aws/sagemaker/Endpoints", name, dimension, value))
        assert not finds(search, Metric("/aws/sagemaker/TrainingJobs", "other", dimension, value))
        by_hand = Metric("/aws/sagemaker/TrainingJobs", name, dimension, "my-own-job")
        assert not finds(search, by_hand)


@dataclass(frozen=True)
class Metric:
    namespace: str
    name: str
    dimension: str
    value: str


def finds(search: str, metric: Metric) -> bool:
    """Whether CloudWatch finds a metric, by its user guide, "search expression syntax".

    In quotes is what a name is as a whole. A word without them is one of the pieces of a name,
    between signs, digits and capital letters.
    """
    [(namespace, dimension, terms)] = re.findall(r'^\{"([^"]+)",(\w+)\} (.+)$', search)
    if (namespace, dimension) != (metric.namespace, metric.dimension):
        return False
    properties_of = {"MetricName": metric.name, metric.dimension: metric.value}
    for name, quoted, word in re.findall(r'(\w+)=(?:"([^"]+)"|(\w+))', terms):
        pieces = re.findall(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+", properties_of[name])
        if quoted != properties_of[name] if quoted else word not in map(str.lower, pieces):
            return False
    return True


def test_what_an_account_has_once_is_named_by_region(prod_assembly: Assembly) -> None:
    """One prefix in two regions of an account: budgets and dashboards would be one and the same."""
    [dashboard] = properties(prod_assembly, "AWS::CloudWatch::Dashboard")
    [budget] = properties(prod_assembly, "AWS::Budgets::Budget")
    for name in (dashboard["DashboardName"], budget["Budget"]["BudgetName"]):
        assert {"Ref": "AWS::Region"} in name["Fn::Join"][1]


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
