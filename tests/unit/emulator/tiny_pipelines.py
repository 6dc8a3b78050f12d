"""Pipelines without jobs, which run in a second or two."""

import hashlib
import io
import json
import zipfile
from typing import Any

from tests.unit.simulator.assemblies import (
    Json,
    condition_step,
    definition_of,
    fail_step,
    function_step,
)

Client = Any
"""Of boto3."""
ROLE_ARN = "arn:aws:iam::123456789012:role/service-role/pipeline"
_GROUP_IMAGE = "123456789012.dkr.ecr.us-east-1.amazonaws.com/image:1"
LAMBDA_TRUST: Json = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Principal": {"Service": "lambda.amazonaws.com"},
            "Action": "sts:AssumeRole",
        }
    ],
}
FUNCTION = "tiny-function"
HANDLER = """
import os, time
import boto3

def main(event, context):
    if event["count"] > 8:
        raise ValueError("too many hosts: set InstanceCount to 8 or less")
    if event["wait_for"] != "nothing":  # an object by which a test ends the wait
        while not boto3.client("s3").list_objects_v2(Bucket="tiny", Prefix=event["wait_for"]).get(
            "KeyCount"
        ):
            time.sleep(0.1)
    return {"score": event["count"] / 4, "greeting": os.environ["GREETING"]}
"""
PARAMETERS: list[Json] = [
    {"Name": "InstanceCount", "Type": "Integer", "DefaultValue": 2},
    {"Name": "Threshold", "Type": "Float", "DefaultValue": 0.5},
    {
        "Name": "Approval",
        "Type": "String",
        "DefaultValue": "PendingManualApproval",
        "EnumValues": ["PendingManualApproval", "Approved"],
    },
    {"Name": "WaitFor", "Type": "String", "DefaultValue": "nothing"},
]


def tiny_definition() -> Json:
    """A function's score against a threshold: a model is registered, or a Fail step says no."""
    arguments = {
        "count": {"Get": "Parameters.InstanceCount"},
        "wait_for": {"Get": "Parameters.WaitFor"},
    }
    look = function_step("Look", arguments, {"score": "Float", "greeting": "String"})
    look["FunctionArn"] = f"arn:aws:lambda:us-east-1:123456789012:function:{FUNCTION}"
    look["DisplayName"] = "Look at the data"
    score = {"Get": "Steps.Look.OutputParameters['score']"}
    passed = {
        "Type": "GreaterThanOrEqualTo",
        "LeftValue": score,
        "RightValue": {"Get": "Parameters.Threshold"},
    }
    reasons = ["score ", score, " is below ", {"Get": "Parameters.Threshold"}]
    reject = fail_step("Reject", {"Std:Join": {"On": "", "Values": reasons}})
    return definition_of(
        look, condition_step("Gate", [passed], [register_step()], [reject]), parameters=PARAMETERS
    )


def register_step() -> Json:
    return {
        "Name": "Register",
        "Type": "RegisterModel",
        "Arguments": {
            "ModelPackageGroupName": "tiny",
            "ModelApprovalStatus": {"Get": "Parameters.Approval"},
            "InferenceSpecification": {
                "Containers": [{"Image": _GROUP_IMAGE, "ModelDataUrl": "s3://tiny/model.tar.gz"}]
            },
            "CustomerMetadataProperties": {"execution": {"Get": "Execution.PipelineExecutionId"}},
        },
    }


def create_function(function: Client) -> None:
    """Deploy the function of the definition."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("handler.py", HANDLER)
    function.create_function(
        FunctionName=FUNCTION,
        Runtime="python3.13",
        Role=ROLE_ARN,
        Handler="handler.main",
        Timeout=60,
        Environment={"Variables": {"GREETING": "hello"}},
        Code={"ZipFile": content.getvalue()},
    )


def create_pipeline(sagemaker: Client, name: str, definition: Json) -> str:
    """Deploy a pipeline; its ARN."""
    arn: str = sagemaker.create_pipeline(
        PipelineName=name,
        PipelineDefinition=json.dumps(definition),
        RoleArn=ROLE_ARN,
        ClientRequestToken=hashlib.sha256(name.encode()).hexdigest(),
    )["PipelineArn"]
    return arn
