"""One stage from nothing to destroyed: deployed by the CDK command line, trained, torn down.

The stages run once, in order; each test holds what one of them left against what it should be.
"""

import json
import re
import sys
from typing import Any, Final

import pytest

from tests.emulator.stages import PARAMETERS, PIPELINE, PREFIX, Seen, play_stages
from tests.images.needs import need_images

pytestmark = pytest.mark.timeout(600)  # the first test waits for all the stages
_STEPS: Final = ["Preflight", "Train", "Evaluate", "QualityGate", "Register"]
_AIM_S: Final = 300


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    seen = play_stages(tmp_path_factory.mktemp("stage"))
    sys.stderr.write(f"\n{seen.table()}\n")
    return seen


def test_every_stage_was_reached_in_time(stage: Seen) -> None:
    assert sum(stage.seconds.values()) < _AIM_S, stage.table()
    assert stage.printed["deployed"].count("✅") == 3
    assert stage.outputs["PyTorchPipelineName"] == PIPELINE


def test_a_pipeline_is_the_synthesized_one_with_its_names_resolved(stage: Seen) -> None:
    for pipeline in stage.resources["AWS::SageMaker::Pipeline"]:
        given = pipeline.properties
        described = stage.answers[pipeline.kind][pipeline.physical_id]
        assert (
            described["PipelineDefinition"] == given["PipelineDefinition"]["PipelineDefinitionBody"]
        )
        assert described["RoleArn"] == given["RoleArn"]
        assert described["ParallelismConfiguration"] == {"MaxParallelExecutionSteps": 1}
    assert len(stage.resources["AWS::SageMaker::Pipeline"]) == 2


def test_the_images_of_the_jobs_were_built_and_pushed(stage: Seen) -> None:
    need_images()
    wanted = []
    for pipeline in stage.answers["AWS::SageMaker::Pipeline"].values():
        steps = {one["Name"]: one for one in json.loads(pipeline["PipelineDefinition"])["Steps"]}
        wanted.append(steps["Train"]["Arguments"]["AlgorithmSpecification"]["TrainingImage"])
    assert sorted(stage.images) == sorted(wanted)
    assert len(set(wanted)) == 2


def test_every_role_has_the_policies_of_its_template_and_no_other(stage: Seen) -> None:
    roles = stage.resources["AWS::IAM::Role"]
    for role in roles:
        given = role.properties
        assert stage.answers[role.kind][role.physical_id] == {
            "trust": given["AssumeRolePolicyDocument"],
            "policies": {one["PolicyName"]: one["PolicyDocument"] for one in given["Policies"]},
        }
    assert len(roles) == 7


def test_the_data_bucket_is_encrypted_private_versioned_and_logged(stage: Seen) -> None:
    name = stage.outputs["DataBucketName"]
    data = stage.answers["AWS::S3::Bucket"][name]
    [rule] = data["encryption"]["Rules"]
    [(key, found)] = [
        (name, one)
        for name, one in stage.answers["AWS::KMS::Key"].items()
        if one["aliases"] == [f"alias/{PREFIX}-data"]
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


def test_keys_have_the_policies_of_their_templates(stage: Seen) -> None:
    for key in stage.resources["AWS::KMS::Key"]:
        found = stage.answers[key.kind][key.physical_id]
        assert found["policy"] == key.properties["KeyPolicy"]


def test_the_function_is_the_asset(stage: Seen) -> None:
    [function] = stage.resources["AWS::Lambda::Function"]
    found = stage.answers[function.kind][function.physical_id]
    assert found["Handler"] == "training.shards.preflight.handler"
    assert found["CodeSha256"] == stage.code_sha256
    [role] = [one for one in stage.resources["AWS::IAM::Role"] if "Preflight" in one.logical_id]
    assert found["Role"].endswith(f":role/{role.physical_id}")


def test_alarms_and_rules_lead_to_the_topic(stage: Seen) -> None:
    topic = stage.outputs["FailureTopicArn"]
    alarms = stage.answers["AWS::CloudWatch::Alarm"]
    assert {tuple(one["AlarmActions"]) for one in alarms.values()} == {(topic,)}
    assert set(alarms) == {
        f"{PREFIX}-preflight-refused",
        f"{PREFIX}-pytorch-execution-failed",
        f"{PREFIX}-tensorflow-execution-failed",
        f"{PREFIX}-step-failed-untold",
        f"{PREFIX}-execution-ended-untold",
    }
    rules = stage.answers["AWS::Events::Rule"]
    for rule in stage.resources["AWS::Events::Rule"]:
        found = rules[rule.physical_id]
        assert found["pattern"] == rule.properties["EventPattern"]
        assert found["state"] == "ENABLED"
        assert [one["Arn"] for one in found["targets"]] == [topic]
    assert len(rules) == 2
    assert stage.answers["AWS::SNS::Topic"][topic]["KmsMasterKeyId"]


def test_the_script_shows_steps_metrics_and_the_approved_model(stage: Seen) -> None:
    assert f":pipeline/{PIPELINE}/execution/" in stage.lines[0]
    for step in _STEPS:
        assert f"{step} Succeeded" in stage.lines
    assert "Train Executing" in stage.lines, "no step was seen while it ran"
    metrics = {line.split()[0] for line in stage.lines if line.startswith("  ")}
    assert {"train:loss", "validation:accuracy"} <= metrics
    assert re.fullmatch(rf"arn:.*:model-package/{PIPELINE}/1 Approved", stage.lines[-1])


def test_the_execution_trains_evaluates_and_registers(stage: Seen) -> None:
    assert stage.execution["PipelineExecutionStatus"] == "Succeeded"
    assert [step["StepName"] for step in stage.steps] == _STEPS
    for name, kind in (("Train", "TrainingJob"), ("Evaluate", "ProcessingJob")):
        [step] = [one for one in stage.steps if one["StepName"] == name]
        arn = step["Metadata"][kind]["Arn"]
        assert arn == stage.jobs[name][f"{kind}Arn"]
        assert arn.rpartition("/")[2] == stage.jobs[name][f"{kind}Name"].lower()


def test_the_training_job_is_described_as_on_aws(stage: Seen) -> None:
    job = stage.jobs["Train"]
    assert job["TrainingJobStatus"] == job["SecondaryStatus"] == "Completed"
    assert job["ResourceConfig"]["InstanceCount"] == 2
    assert job["HyperParameters"]["epochs"] == PARAMETERS["Epochs"]
    [train, _] = job["InputDataConfig"]
    source = train["DataSource"]["S3DataSource"]
    assert source["S3DataDistributionType"] == "ShardedByS3Key"
    assert job["TrainingStartTime"] < job["TrainingEndTime"]
    assert stage.model["ServerSideEncryption"] == "aws:kms"


def test_the_evaluation_says_its_last_words(stage: Seen) -> None:
    job = stage.jobs["Evaluate"]
    assert job["ProcessingJobStatus"] == "Completed"
    assert "accuracy" in job["ExitMessage"]


def test_the_package_keeps_the_datas_digest_when_it_is_approved(stage: Seen) -> None:
    [summary] = stage.packages
    assert summary["ModelApprovalStatus"] == stage.package["ModelApprovalStatus"] == "Approved"
    assert stage.package["ModelPackageGroupName"] == PIPELINE
    properties = stage.package["CustomerMetadataProperties"]
    assert properties["execution"] == stage.lines[0].rpartition("/")[2]
    assert re.fullmatch(r"[0-9a-f]{16,64}", properties["data_digest"])


def test_the_same_deployment_again_changes_nothing(stage: Seen) -> None:
    assert stage.printed["again"].count("(no changes)") == 3


def test_a_changed_setting_changes_the_pipelines_only(stage: Seen) -> None:
    assert stage.printed["changed"].count("(no changes)") == 2
    assert stage.ids["changed"] == stage.ids["deployed"]
    assert stage.found["changed"] == stage.found["deployed"]
    assert _epochs(stage.definitions["deployed"]) == 3
    assert _epochs(stage.definitions["changed"]) == 5
    rest = [{**one, "Parameters": []} for one in stage.definitions.values()]
    assert rest[0] == rest[1]


def test_destroy_leaves_the_access_logs_and_what_the_bootstrap_made(stage: Seen) -> None:
    assert "1 model version(s) will be deleted" in stage.printed["emptied"]
    kept = stage.found["destroyed"] - stage.found["bootstrapped"]
    assert kept == {f"bucket {stage.outputs['AccessLogsBucketName']}"}
    assert stage.found["bootstrapped"] <= stage.found["destroyed"]


def _epochs(definition: dict[str, Any]) -> int:
    [default] = [one["DefaultValue"] for one in definition["Parameters"] if one["Name"] == "Epochs"]
    return int(default)
