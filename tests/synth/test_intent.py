"""The facts about the templates that matter, each said once."""

import json
from typing import Any

import pytest

from tests.synth.conftest import Assembly

pytestmark = pytest.mark.timeout(300)

KEY = "<Import evenshard-dev-storage:ExportsOutputFnGetAttDataKey17AFBB84ArnCE2A1BC6>"


def channels(assembly: Assembly) -> dict[str, Any]:
    listed = assembly.step("Train")["InputDataConfig"]
    return {one["ChannelName"]: one["DataSource"]["S3DataSource"] for one in listed}


def buckets(assembly: Assembly) -> list[dict[str, Any]]:
    return [found["Properties"] for found in assembly.resources("Storage", "AWS::S3::Bucket")]


def data_bucket(assembly: Assembly) -> dict[str, Any]:
    [found] = [one for one in buckets(assembly) if "LoggingConfiguration" in one]
    return found


def test_training_data_is_sharded_and_validation_data_is_not(assembly: Assembly) -> None:
    found = channels(assembly)
    assert set(found) == {"train", "validation"}
    assert found["train"]["S3DataDistributionType"] == "ShardedByS3Key"
    assert found["train"]["S3Uri"] == {"Get": "Parameters.TrainDataUri"}
    assert found["validation"]["S3DataDistributionType"] == "FullyReplicated"


def test_the_cluster_is_chosen_at_start(assembly: Assembly) -> None:
    assert assembly.step("Train")["ResourceConfig"] == {
        "InstanceType": {"Get": "Parameters.InstanceType"},
        "InstanceCount": {"Get": "Parameters.InstanceCount"},
        "VolumeSizeInGB": 100,
    }


def test_jobs_are_isolated_from_the_network(assembly: Assembly) -> None:
    assert assembly.step("Train")["EnableNetworkIsolation"] is True
    assert assembly.step("Evaluate")["NetworkConfig"] == {"EnableNetworkIsolation": True}


def test_every_output_is_encrypted_with_the_key(assembly: Assembly) -> None:
    assert assembly.step("Train")["OutputDataConfig"]["KmsKeyId"] == KEY
    assert assembly.step("Evaluate")["ProcessingOutputConfig"]["KmsKeyId"] == KEY


def test_the_gate_compares_accuracy_with_the_threshold(assembly: Assembly) -> None:
    assert assembly.step("QualityGate")["Conditions"] == [
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


def test_the_registered_model_is_the_trained_one(assembly: Assembly) -> None:
    register = assembly.step("Register")
    [container] = register["InferenceSpecification"]["Containers"]
    assert container["ModelDataUrl"] == {"Get": "Steps.Train.ModelArtifacts.S3ModelArtifacts"}
    assert container["Image"] == assembly.step("Train")["AlgorithmSpecification"]["TrainingImage"]
    assert register["ModelApprovalStatus"] == {"Get": "Parameters.ModelApprovalStatus"}
    assert register["ModelPackageGroupName"] == "evenshard-dev-pytorch"


def test_the_key_rotates(assembly: Assembly) -> None:
    [key] = assembly.resources("Storage", "AWS::KMS::Key")
    assert key["Properties"]["EnableKeyRotation"] is True


def test_the_data_bucket_is_encrypted_versioned_and_logged(assembly: Assembly) -> None:
    bucket = data_bucket(assembly)
    [rule] = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert rule["ServerSideEncryptionByDefault"]["SSEAlgorithm"] == "aws:kms"
    assert bucket["VersioningConfiguration"] == {"Status": "Enabled"}
    assert bucket["LoggingConfiguration"]["LogFilePrefix"] == "data-bucket/"


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


@pytest.mark.parametrize("stack", ["Storage", "Training"])
def test_no_partition_is_written_out(assembly: Assembly, stack: str) -> None:
    assert "arn:aws:" not in json.dumps(assembly.template(stack))


def test_policies_exist_with_their_roles(assembly: Assembly) -> None:
    for kind in ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy"):
        assert assembly.resources("Training", kind) == []


def test_training_and_evaluation_are_not_one_role(assembly: Assembly) -> None:
    training, evaluation = (assembly.step(name)["RoleArn"] for name in ("Train", "Evaluate"))
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
    [group] = assembly.resources("Training", "AWS::SageMaker::ModelPackageGroup")
    assert group["DeletionPolicy"] == "Delete"
    assert "ModelPackageGroupName" in group["Properties"]


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
    assert training["PyTorchPipelineName"]["Value"] == "evenshard-dev-pytorch"
    assert training["PyTorchStartCommand"]["Value"].endswith(" evenshard-dev-pytorch")
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
