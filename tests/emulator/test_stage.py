"""One stage from nothing to destroyed: deployed by the CDK command line, trained, torn down.

The stages run once, in order; each test holds what one of them left against what it should be.
"""

import base64
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from evenshard.emulator.local_aws import local_aws
from evenshard.emulator.server import Emulator
from evenshard.repository import ROOT
from tests.emulator.cdk_app import CdkApp, cdk_app
from tests.emulator.deployed import Deployed, Resource, everything
from tests.images.deployment import cdk_variables, image_store, pushed_images
from tests.images.needs import REQUIRED, missing, need_images
from tests.images.store import Store

pytestmark = pytest.mark.timeout(600)  # the first test waits for all the stages
_PREFIX: Final = "evenshard-dev"
_PIPELINE: Final = f"{_PREFIX}-pytorch"
_PARAMETERS: Final = {
    "InstanceCount": "2",
    "Epochs": "1",
    "BatchSize": "64",
    "QualityThreshold": "0.5",
}
_STEPS: Final = ["Preflight", "Train", "Evaluate", "QualityGate", "Register"]
_EXECUTION_LIMIT_S: Final = 240
_AIM_S: Final = 300
_EVENSHARD: Final = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); import evenshard.cli as cli; cli.main()"
)
"""The `evenshard` command of this checkout."""


@dataclass(kw_only=True)
class Stage:
    """What was seen, stage by stage."""

    seconds: dict[str, float] = field(default_factory=dict)
    printed: dict[str, str] = field(default_factory=dict)
    """What the CDK command line printed."""
    found: dict[str, set[str]] = field(default_factory=dict)
    """Everything there was after a stage."""
    resources: dict[str, list[Resource]] = field(default_factory=dict)
    """After the first deployment, by type."""
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Of the services after the first deployment: kind -> name -> answer."""
    ids: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    """Physical ids after a stage."""
    definitions: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Of the pipeline after a stage."""
    outputs: dict[str, str] = field(default_factory=dict)
    code_sha256: str = ""
    """Of the zip that the CDK command line uploaded for the function."""
    images: list[str] = field(default_factory=list)
    """The names under which images were pushed."""
    execution: dict[str, Any] = field(default_factory=dict)
    while_running: list[str] = field(default_factory=list)
    """Statuses of steps, in the order in which they were first listed."""
    steps: list[dict[str, Any]] = field(default_factory=list)
    package: dict[str, Any] = field(default_factory=dict)

    @contextmanager
    def measured(self, name: str) -> Iterator[None]:
        """Take the time of one stage."""
        began_s = time.monotonic()
        yield
        self.seconds[name] = time.monotonic() - began_s

    def table(self) -> str:
        """Seconds of each stage, and of all."""
        lines = [f"{name:32} {seconds:6.1f} s" for name, seconds in self.seconds.items()]
        return "\n".join([*lines, f"{'all':32} {sum(self.seconds.values()):6.1f} s"])


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """Everything, from nothing to destroyed."""
    seen = Stage()
    folder = tmp_path_factory.mktemp("stage")
    for name in ("app", "images"):
        (folder / name).mkdir()
    with ExitStack() as stack:
        store = _image_store(stack, folder / "images")
        server = stack.enter_context(local_aws(state_folder=folder / "state"))
        app = cdk_app(folder / "app", server, None if store is None else cdk_variables(store))
        deployed = Deployed(server=server, assembly=app.assembly)
        _deploy(seen, app, deployed)
        seen.images = [] if store is None else pushed_images(store)
        _train(seen, app, server)
        _change(seen, app, deployed)
        _destroy(seen, app, server)
    sys.stderr.write(f"\n{seen.table()}\n")
    return seen


def _image_store(stack: ExitStack, folder: Path) -> Store | None:
    """Where images are built; None where they cannot be and need not."""
    if missing() is not None and os.environ.get(REQUIRED) != "1":
        return None
    return stack.enter_context(image_store(folder))


def _deploy(seen: Stage, app: CdkApp, deployed: Deployed) -> None:
    with seen.measured("bootstrap"):
        app.bootstrap()
    seen.found["bootstrapped"] = everything(deployed.server)
    with seen.measured("synthesize and deploy"):
        seen.printed["deployed"] = app.deploy()
    seen.found["deployed"] = everything(deployed.server)
    seen.ids["deployed"] = deployed.physical_ids()
    seen.outputs = deployed.outputs()
    seen.definitions["deployed"] = _definition(deployed.server)
    seen.resources = {kind: deployed.resources(kind) for kind in _KINDS}
    seen.answers = {kind: _answers(deployed.server, kind, seen.resources[kind]) for kind in _KINDS}
    [function] = seen.resources["AWS::Lambda::Function"]
    seen.code_sha256 = _sha256_of_object(deployed.server, function.properties["Code"])


def _train(seen: Stage, app: CdkApp, server: Emulator) -> None:
    bucket = seen.outputs["DataBucketName"]
    with seen.measured("data"):
        target = f"s3://{bucket}/data/"
        app.run([sys.executable, "-c", _EVENSHARD, str(ROOT), "data", target, "--shards", "4"])
    sagemaker = server.client("sagemaker")
    with seen.measured("execution"):
        arn = sagemaker.start_pipeline_execution(
            PipelineName=_PIPELINE,
            PipelineParameters=[{"Name": k, "Value": v} for k, v in _PARAMETERS.items()],
        )["PipelineExecutionArn"]
        _watch(seen, sagemaker, arn)
    if seen.execution["PipelineExecutionStatus"] == "Succeeded":
        model = seen.steps[-1]["Metadata"]["RegisterModel"]["Arn"]
        sagemaker.update_model_package(ModelPackageArn=model, ModelApprovalStatus="Approved")
        seen.package = sagemaker.describe_model_package(ModelPackageName=model)


def _watch(seen: Stage, sagemaker: Any, arn: str) -> None:  # noqa: ANN401 - a boto3 client
    deadline_s = time.monotonic() + _EXECUTION_LIMIT_S
    status = "Executing"
    while status == "Executing" and time.monotonic() < deadline_s:
        time.sleep(1)
        seen.execution = sagemaker.describe_pipeline_execution(PipelineExecutionArn=arn)
        status = seen.execution["PipelineExecutionStatus"]
        listed = sagemaker.list_pipeline_execution_steps(
            PipelineExecutionArn=arn, SortOrder="Ascending"
        )
        seen.steps = listed["PipelineExecutionSteps"]
        lines = [f"{step['StepName']} {step['StepStatus']}" for step in seen.steps]
        seen.while_running += [line for line in lines if line not in seen.while_running]


def _change(seen: Stage, app: CdkApp, deployed: Deployed) -> None:
    with seen.measured("deploy the same again"):
        seen.printed["again"] = app.deploy_again()
    app.change("dev", "epochs = 3", "epochs = 5")
    with seen.measured("deploy a changed setting"):
        seen.printed["changed"] = app.deploy()
    seen.ids["changed"] = deployed.physical_ids()
    seen.found["changed"] = everything(deployed.server)
    seen.definitions["changed"] = _definition(deployed.server)


def _destroy(seen: Stage, app: CdkApp, server: Emulator) -> None:
    with seen.measured("destroy"):
        teardown = [sys.executable, "-m", "infra.teardown", "dev"]
        seen.printed["emptied"] = app.run(teardown, answer=f"{_PREFIX}\n")
        seen.printed["destroyed"] = app.destroy()
    seen.found["destroyed"] = everything(server)


def _definition(server: Emulator) -> dict[str, Any]:
    described = server.client("sagemaker").describe_pipeline(PipelineName=_PIPELINE)
    loaded: dict[str, Any] = json.loads(described["PipelineDefinition"])
    return loaded


def _sha256_of_object(server: Emulator, code: Mapping[str, str]) -> str:
    stored = server.client("s3").get_object(Bucket=code["S3Bucket"], Key=code["S3Key"])
    return base64.b64encode(hashlib.sha256(stored["Body"].read()).digest()).decode()


_KINDS: Final = (
    "AWS::CloudWatch::Alarm",
    "AWS::Events::Rule",
    "AWS::IAM::Role",
    "AWS::KMS::Key",
    "AWS::Lambda::Function",
    "AWS::S3::Bucket",
    "AWS::S3::BucketPolicy",
    "AWS::SNS::Topic",
    "AWS::SageMaker::Pipeline",
)


def _answers(server: Emulator, kind: str, resources: list[Resource]) -> dict[str, Any]:
    """What the service says of each resource, by physical id."""
    ask = _ASKED[kind]
    return {one.physical_id: ask(server, one.physical_id) for one in resources}


def _ask_bucket(server: Emulator, name: str) -> dict[str, Any]:
    s3 = server.client("s3")
    return {
        "encryption": s3.get_bucket_encryption(Bucket=name)["ServerSideEncryptionConfiguration"],
        "versioning": s3.get_bucket_versioning(Bucket=name).get("Status"),
        "access": s3.get_public_access_block(Bucket=name)["PublicAccessBlockConfiguration"],
        "rules": s3.get_bucket_lifecycle_configuration(Bucket=name)["Rules"],
        "logging": s3.get_bucket_logging(Bucket=name).get("LoggingEnabled"),
    }


def _ask_role(server: Emulator, name: str) -> dict[str, Any]:
    iam = server.client("iam")
    policies = {
        policy: iam.get_role_policy(RoleName=name, PolicyName=policy)["PolicyDocument"]
        for policy in iam.list_role_policies(RoleName=name)["PolicyNames"]
    }
    trust = iam.get_role(RoleName=name)["Role"]["AssumeRolePolicyDocument"]
    return {"trust": trust, "policies": policies}


def _ask_key(server: Emulator, name: str) -> dict[str, Any]:
    kms = server.client("kms")
    return {
        "aliases": [one["AliasName"] for one in kms.list_aliases(KeyId=name)["Aliases"]],
        "rotates": kms.get_key_rotation_status(KeyId=name)["KeyRotationEnabled"],
        "policy": json.loads(kms.get_key_policy(KeyId=name, PolicyName="default")["Policy"]),
    }


def _ask_rule(server: Emulator, name: str) -> dict[str, Any]:
    events = server.client("events")
    rule = events.describe_rule(Name=name)
    return {
        "pattern": json.loads(rule["EventPattern"]),
        "state": rule["State"],
        "targets": events.list_targets_by_rule(Rule=name)["Targets"],
    }


_ASKED: Final[Mapping[str, Callable[[Emulator, str], Any]]] = {
    "AWS::CloudWatch::Alarm": lambda server, name: server.client("cloudwatch").describe_alarms(
        AlarmNames=[name]
    )["MetricAlarms"][0],
    "AWS::Events::Rule": _ask_rule,
    "AWS::IAM::Role": _ask_role,
    "AWS::KMS::Key": _ask_key,
    "AWS::Lambda::Function": lambda server, name: server.client("lambda").get_function(
        FunctionName=name
    )["Configuration"],
    "AWS::S3::Bucket": _ask_bucket,
    "AWS::S3::BucketPolicy": lambda server, name: json.loads(
        server.client("s3").get_bucket_policy(Bucket=name)["Policy"]
    ),
    "AWS::SNS::Topic": lambda server, name: server.client("sns").get_topic_attributes(
        TopicArn=name
    )["Attributes"],
    "AWS::SageMaker::Pipeline": lambda server, name: server.client("sagemaker").describe_pipeline(
        PipelineName=name
    ),
}


def test_every_stage_was_reached_in_time(stage: Stage) -> None:
    assert sum(stage.seconds.values()) < _AIM_S, stage.table()
    assert stage.printed["deployed"].count("✅") == 3
    assert stage.outputs["PyTorchPipelineName"] == _PIPELINE


def test_a_pipeline_is_the_synthesized_one_with_its_names_resolved(stage: Stage) -> None:
    for pipeline in stage.resources["AWS::SageMaker::Pipeline"]:
        given = pipeline.properties
        described = stage.answers[pipeline.kind][pipeline.physical_id]
        assert (
            described["PipelineDefinition"] == given["PipelineDefinition"]["PipelineDefinitionBody"]
        )
        assert described["RoleArn"] == given["RoleArn"]
        assert described["ParallelismConfiguration"] == {"MaxParallelExecutionSteps": 1}
    assert len(stage.resources["AWS::SageMaker::Pipeline"]) == 2


def test_the_images_of_the_jobs_were_built_and_pushed(stage: Stage) -> None:
    need_images()
    wanted = []
    for pipeline in stage.answers["AWS::SageMaker::Pipeline"].values():
        steps = {one["Name"]: one for one in json.loads(pipeline["PipelineDefinition"])["Steps"]}
        wanted.append(steps["Train"]["Arguments"]["AlgorithmSpecification"]["TrainingImage"])
    assert sorted(stage.images) == sorted(wanted)
    assert len(set(wanted)) == 2


def test_every_role_has_the_policies_of_its_template_and_no_other(stage: Stage) -> None:
    roles = stage.resources["AWS::IAM::Role"]
    for role in roles:
        given = role.properties
        assert stage.answers[role.kind][role.physical_id] == {
            "trust": given["AssumeRolePolicyDocument"],
            "policies": {one["PolicyName"]: one["PolicyDocument"] for one in given["Policies"]},
        }
    assert len(roles) == 7


def test_the_data_bucket_is_encrypted_private_versioned_and_logged(stage: Stage) -> None:
    name = stage.outputs["DataBucketName"]
    data = stage.answers["AWS::S3::Bucket"][name]
    [rule] = data["encryption"]["Rules"]
    [(key, found)] = [
        (name, one)
        for name, one in stage.answers["AWS::KMS::Key"].items()
        if one["aliases"] == [f"alias/{_PREFIX}-data"]
    ]
    assert rule["ApplyServerSideEncryptionByDefault"]["SSEAlgorithm"] == "aws:kms"
    assert rule["ApplyServerSideEncryptionByDefault"]["KMSMasterKeyID"].endswith(f":key/{key}")
    assert found["rotates"]
    assert data["versioning"] == "Enabled"
    assert set(data["access"].values()) == {True}
    assert data["logging"]["TargetBucket"] == stage.outputs["AccessLogsBucketName"]
    ids = {one["ID"] for one in data["rules"]}
    assert ids == {"old-versions", "checkpoints", "unfinished-uploads"}
    statements = stage.answers["AWS::S3::BucketPolicy"][name]["Statement"]
    assert {"Bool": {"aws:SecureTransport": "false"}} in [one["Condition"] for one in statements]


def test_keys_have_the_policies_of_their_templates(stage: Stage) -> None:
    for key in stage.resources["AWS::KMS::Key"]:
        found = stage.answers[key.kind][key.physical_id]
        assert found["policy"] == key.properties["KeyPolicy"]


def test_the_function_is_the_asset(stage: Stage) -> None:
    [function] = stage.resources["AWS::Lambda::Function"]
    found = stage.answers[function.kind][function.physical_id]
    assert found["Handler"] == "training.shards.preflight.handler"
    assert found["CodeSha256"] == stage.code_sha256
    [role] = [one for one in stage.resources["AWS::IAM::Role"] if "Preflight" in one.logical_id]
    assert found["Role"].endswith(f":role/{role.physical_id}")


def test_alarms_and_rules_lead_to_the_topic(stage: Stage) -> None:
    topic = stage.outputs["FailureTopicArn"]
    alarms = stage.answers["AWS::CloudWatch::Alarm"]
    assert {tuple(one["AlarmActions"]) for one in alarms.values()} == {(topic,)}
    assert set(alarms) == {
        f"{_PREFIX}-preflight-refused",
        f"{_PREFIX}-pytorch-execution-failed",
        f"{_PREFIX}-tensorflow-execution-failed",
    }
    rules = stage.answers["AWS::Events::Rule"]
    for rule in stage.resources["AWS::Events::Rule"]:
        found = rules[rule.physical_id]
        assert found["pattern"] == rule.properties["EventPattern"]
        assert found["state"] == "ENABLED"
        assert [one["Arn"] for one in found["targets"]] == [topic]
    assert len(rules) == 2
    assert stage.answers["AWS::SNS::Topic"][topic]["KmsMasterKeyId"]


def test_an_execution_with_changed_parameters_trains_evaluates_and_registers(stage: Stage) -> None:
    assert stage.execution["PipelineExecutionStatus"] == "Succeeded", stage.steps
    assert [step["StepName"] for step in stage.steps] == _STEPS
    assert "Train Executing" in stage.while_running
    assert stage.package["ModelApprovalStatus"] == "Approved"
    assert stage.package["ModelPackageGroupName"] == _PIPELINE


def test_the_same_deployment_again_changes_nothing(stage: Stage) -> None:
    assert stage.printed["again"].count("(no changes)") == 3


def test_a_changed_setting_changes_the_pipelines_only(stage: Stage) -> None:
    assert stage.printed["changed"].count("(no changes)") == 2
    assert stage.ids["changed"] == stage.ids["deployed"]
    assert stage.found["changed"] == stage.found["deployed"]
    assert _epochs(stage.definitions["deployed"]) == 3
    assert _epochs(stage.definitions["changed"]) == 5
    rest = [{**one, "Parameters": []} for one in stage.definitions.values()]
    assert rest[0] == rest[1]


def test_destroy_leaves_the_access_logs_and_what_the_bootstrap_made(stage: Stage) -> None:
    assert "1 model version(s) will be deleted" in stage.printed["emptied"]
    kept = stage.found["destroyed"] - stage.found["bootstrapped"]
    assert kept == {f"bucket {stage.outputs['AccessLogsBucketName']}"}
    assert stage.found["bootstrapped"] <= stage.found["destroyed"]


def _epochs(definition: dict[str, Any]) -> int:
    [default] = [one["DefaultValue"] for one in definition["Parameters"] if one["Name"] == "Epochs"]
    return int(default)
