"""The facts about the templates that matter, each said once."""

import json
import re
from typing import Any

import pytest

from tests.synth.conftest import Assembly
from training.contract.layout import FRAMEWORKS

pytestmark = pytest.mark.timeout(300)

both = pytest.mark.parametrize("framework", FRAMEWORKS)
NAMES = {"pytorch": "PyTorch", "tensorflow": "TensorFlow"}
KEY = "<Import evenshard-dev-storage:ExportsOutputFnGetAttDataKey17AFBB84ArnCE2A1BC6>"


def channels(assembly: Assembly, framework: str) -> dict[str, Any]:
    listed = assembly.step("Train", framework)["InputDataConfig"]
    return {one["ChannelName"]: one["DataSource"]["S3DataSource"] for one in listed}


def buckets(assembly: Assembly) -> list[dict[str, Any]]:
    return [found["Properties"] for found in assembly.resources("Storage", "AWS::S3::Bucket")]


def data_bucket(assembly: Assembly) -> dict[str, Any]:
    [found] = [one for one in buckets(assembly) if "LoggingConfiguration" in one]
    return found


@both
def test_training_data_is_sharded_and_validation_data_is_not(
    assembly: Assembly, framework: str
) -> None:
    found = channels(assembly, framework)
    assert set(found) == {"train", "validation"}
    assert found["train"]["S3DataDistributionType"] == "ShardedByS3Key"
    assert found["train"]["S3Uri"] == {"Get": "Parameters.TrainDataUri"}
    assert found["validation"]["S3DataDistributionType"] == "FullyReplicated"


@both
def test_the_cluster_is_chosen_at_start(assembly: Assembly, framework: str) -> None:
    assert assembly.step("Train", framework)["ResourceConfig"] == {
        "InstanceType": {"Get": "Parameters.InstanceType"},
        "InstanceCount": {"Get": "Parameters.InstanceCount"},
        "VolumeSizeInGB": 100,
    }


@both
def test_jobs_are_isolated_from_the_network(assembly: Assembly, framework: str) -> None:
    assert assembly.step("Train", framework)["EnableNetworkIsolation"] is True
    assert assembly.step("Evaluate", framework)["NetworkConfig"] == {"EnableNetworkIsolation": True}


@both
def test_every_output_is_encrypted_with_the_key(assembly: Assembly, framework: str) -> None:
    assert assembly.step("Train", framework)["OutputDataConfig"]["KmsKeyId"] == KEY
    assert assembly.step("Evaluate", framework)["ProcessingOutputConfig"]["KmsKeyId"] == KEY


@both
def test_volumes_are_encrypted_with_the_key_and_nvme_disks_take_none(
    assembly: Assembly, framework: str
) -> None:
    cluster = assembly.step("Evaluate", framework)["ProcessingResources"]["ClusterConfig"]
    assert cluster["VolumeKmsKeyId"] == KEY
    # Its g5 and g6 encrypt their disks in hardware: SageMaker refuses a key for them.
    assert "VolumeKmsKeyId" not in assembly.step("Train", framework)["ResourceConfig"]


@both
def test_the_gate_compares_accuracy_with_the_threshold(assembly: Assembly, framework: str) -> None:
    assert assembly.step("QualityGate", framework)["Conditions"] == [
        {
            "Type": "GreaterThanOrEqualTo",
            "LeftValue": {
                "Std:JsonGet": {
                    "PropertyFile": {"Get": "Steps.Evaluate.PropertyFiles.Evaluation"},
                    "Path": "binary_classification_metrics.accuracy.value",
                }
            },
            "RightValue": {"Get": "Parameters.QualityThreshold"},
        }
    ]


@both
def test_the_registered_model_is_the_trained_one(assembly: Assembly, framework: str) -> None:
    register = assembly.step("Register", framework)
    [container] = register["InferenceSpecification"]["Containers"]
    assert container["ModelDataUrl"] == {"Get": "Steps.Train.ModelArtifacts.S3ModelArtifacts"}
    assert (
        container["Image"]
        == assembly.step("Train", framework)["AlgorithmSpecification"]["TrainingImage"]
    )
    assert register["ModelApprovalStatus"] == {"Get": "Parameters.ModelApprovalStatus"}
    assert register["ModelPackageGroupName"] == f"evenshard-dev-{framework}"


def test_the_key_rotates(assembly: Assembly) -> None:
    [key] = assembly.resources("Storage", "AWS::KMS::Key")
    assert key["Properties"]["EnableKeyRotation"] is True


def test_the_data_bucket_is_encrypted_versioned_and_logged(assembly: Assembly) -> None:
    bucket = data_bucket(assembly)
    [rule] = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert rule["ServerSideEncryptionByDefault"]["SSEAlgorithm"] == "aws:kms"
    assert bucket["VersioningConfiguration"] == {"Status": "Enabled"}
    assert bucket["LoggingConfiguration"]["LogFilePrefix"] == "data-bucket/"


def test_one_step_of_an_execution_runs_at_a_time(assembly: Assembly) -> None:
    pipelines = assembly.resources("Training", "AWS::SageMaker::Pipeline")
    assert [one["Properties"]["ParallelismConfiguration"] for one in pipelines] == [
        {"MaxParallelExecutionSteps": 1}
    ] * 2


def test_checkpoints_do_not_pile_up(assembly: Assembly) -> None:
    rules = {one["Id"]: one for one in data_bucket(assembly)["LifecycleConfiguration"]["Rules"]}
    uri = assembly.step("Train")["CheckpointConfig"]["S3Uri"]["Std:Join"]["Values"][0]
    assert rules["checkpoints"] == {
        "Id": "checkpoints",
        "Status": "Enabled",
        "Prefix": uri.partition(">/")[2],
        "ExpirationInDays": 30,
        "NoncurrentVersionExpiration": {"NoncurrentDays": 1},
    }


def test_every_bucket_is_private_and_refuses_plain_http(assembly: Assembly) -> None:
    everything = dict.fromkeys(
        ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets"), True
    )
    assert [one["PublicAccessBlockConfiguration"] for one in buckets(assembly)] == [everything] * 2
    policies = assembly.resources("Storage", "AWS::S3::BucketPolicy")
    assert len(policies) == 2
    for policy in policies:
        conditions = [
            statement["Condition"]
            for statement in policy["Properties"]["PolicyDocument"]["Statement"]
            if statement["Effect"] == "Deny"
        ]
        assert {"Bool": {"aws:SecureTransport": "false"}} in conditions
        assert {"NumericLessThan": {"s3:TlsVersion": 1.2}} in conditions


@pytest.mark.parametrize("stack", ["Storage", "Training", "Operations"])
def test_no_partition_is_written_out(assembly: Assembly, stack: str) -> None:
    assert "arn:aws:" not in json.dumps(assembly.template(stack))


def test_policies_exist_with_their_roles(assembly: Assembly) -> None:
    for kind in ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy"):
        assert assembly.resources("Training", kind) == []


@both
def test_training_and_evaluation_are_not_one_role(assembly: Assembly, framework: str) -> None:
    training, evaluation = (
        assembly.step(name, framework)["RoleArn"] for name in ("Train", "Evaluate")
    )
    assert "TrainingRole" in training
    assert "EvaluationRole" in evaluation


def test_the_function_is_current_and_its_log_is_not_kept_forever(assembly: Assembly) -> None:
    [function] = assembly.resources("Training", "AWS::Lambda::Function")
    properties = function["Properties"]
    assert properties["Runtime"] == "python3.14"
    assert properties["Handler"] == "training.shards.preflight.handler"
    # A pipeline gives up on a function after 10 minutes, or before.
    assert properties["Timeout"] < 300
    [log_group] = assembly.resources("Training", "AWS::Logs::LogGroup")
    assert log_group["Properties"]["RetentionInDays"] == 30
    assert properties["LoggingConfig"]["LogGroup"]["Ref"].startswith("PreflightLog")


def test_the_next_deployment_can_make_its_model_package_group(assembly: Assembly) -> None:
    # SageMaker refuses to delete a group that has versions: no model goes with the stack.
    groups = assembly.resources("Training", "AWS::SageMaker::ModelPackageGroup")
    assert [one["Properties"]["ModelPackageGroupName"] for one in groups] == [
        "evenshard-dev-pytorch",
        "evenshard-dev-tensorflow",
    ]
    assert {one["DeletionPolicy"] for one in groups} == {"Delete"}


@pytest.mark.parametrize("which", ["assembly", "prod_assembly"])
def test_a_bucket_that_stays_keeps_its_policy(which: str, request: pytest.FixtureRequest) -> None:
    """Else it would take plain HTTP from the moment that its stack is gone."""
    assembly: Assembly = request.getfixturevalue(which)
    found = {
        one["Properties"]["Bucket"]["Ref"]: one["DeletionPolicy"]
        for one in assembly.resources("Storage", "AWS::S3::BucketPolicy")
    }
    resources = assembly.template("Storage")["Resources"]
    assert len(found) == 2
    assert found == {name: resources[name]["DeletionPolicy"] for name in found}


def test_marks_of_deletions_go_with_the_last_version(assembly: Assembly) -> None:
    rules = {one["Id"]: one for one in data_bucket(assembly)["LifecycleConfiguration"]["Rules"]}
    assert rules["old-versions"]["ExpiredObjectDeleteMarker"] is True
    assert "Prefix" not in rules["old-versions"]


def test_access_logs_do_not_stop_a_teardown(assembly: Assembly) -> None:
    [logs] = [
        one
        for one in assembly.resources("Storage", "AWS::S3::Bucket")
        if "LoggingConfiguration" not in one["Properties"]
    ]
    assert logs["DeletionPolicy"] == "RetainExceptOnCreate"
    # Nothing it could collide with when the stack is deployed again.
    assert "BucketName" not in logs["Properties"]


def test_outputs_say_how_to_go_on(assembly: Assembly) -> None:
    training = assembly.template("Training")["Outputs"]
    for framework, name in NAMES.items():
        pipeline = f"evenshard-dev-{framework}"
        assert training[f"{name}PipelineName"]["Value"] == pipeline
        assert training[f"{name}StartCommand"]["Value"].endswith(f" {pipeline}")
    storage = assembly.template("Storage")["Outputs"]
    assert storage["DataBucketName"]["Value"] == {"Ref": "Data666C94C7"}
    assert storage["DataBucketName"]["Description"] == (
        "Fill it with: aws s3 cp --recursive FOLDER s3://<this bucket>/data/"
    )
    assert "Stays when the stack is deleted" in storage["AccessLogsBucketName"]["Description"]
    assert "no input needed" in training["PyTorchStartCommand"]["Description"]


def test_outputs_name_commands_that_exist(assembly: Assembly) -> None:
    # `evenshard data` writes folders only.
    for stack in ("Storage", "Training"):
        assert "evenshard data s3://" not in json.dumps(assembly.template(stack))


def test_frameworks_share_no_role_image_or_registry(assembly: Assembly) -> None:
    """Neither pipeline can pass, start or write what is the other's."""
    own = {}
    for framework, name in NAMES.items():
        train, evaluate, register = (
            assembly.step(step, framework) for step in ("Train", "Evaluate", "Register")
        )
        assert train["RoleArn"].startswith(f"<GetAtt {name}")
        own[framework] = {
            train["RoleArn"],
            evaluate["RoleArn"],
            train["AlgorithmSpecification"]["TrainingImage"],
            register["ModelPackageGroupName"],
        }
    assert len(own["pytorch"] | own["tensorflow"]) == 8


def test_but_for_what_is_their_own_the_pipelines_are_one(assembly: Assembly) -> None:
    first, second = (json.dumps(assembly.definition(framework)) for framework in FRAMEWORKS)
    assert first != second
    assert _without_own(first) == _without_own(second)


def _without_own(text: str) -> str:
    named = re.sub(r"pytorch|tensorflow|PyTorch|TensorFlow", "<framework>", text)
    # The hashes of the role's logical id and of the image.
    return re.sub(r"(?<=Role)[0-9A-F]{8}|[0-9a-f]{64}", "<hash>", named)
