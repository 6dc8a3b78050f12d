import re
from typing import Any

import pytest

from evenshard.simulator.deployment.intrinsics import Resolver
from evenshard.simulator.errors import DefinitionError

STORAGE = {
    "Resources": {
        "Data": {"Type": "AWS::S3::Bucket", "Properties": {}},
        "Key": {"Type": "AWS::KMS::Key", "Properties": {}},
    },
    "Outputs": {
        "Bucket": {"Value": {"Ref": "Data"}, "Export": {"Name": "storage:bucket"}},
        "KeyArn": {
            "Value": {"Fn::GetAtt": ["Key", "Arn"]},
            "Export": {"Name": {"Fn::Sub": "${AWS::StackName}:key"}},
        },
        "NotExported": {"Value": "x"},
    },
}
TRAINING: dict[str, Any] = {
    "Parameters": {"Version": {"Type": "String", "Default": "7"}, "Open": {"Type": "String"}},
    "Resources": {
        "Data": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "given-name"}},
        "Role": {"Type": "AWS::IAM::Role", "Properties": {}},
        "Function": {"Type": "AWS::Lambda::Function", "Properties": {}},
        "Group": {
            "Type": "AWS::SageMaker::ModelPackageGroup",
            "Properties": {"ModelPackageGroupName": {"Fn::Join": ["-", ["Spam", "models"]]}},
        },
        "Table": {"Type": "AWS::DynamoDB::Table", "Properties": {}},
    },
}


@pytest.fixture
def resolver() -> Resolver:
    return Resolver({"storage": STORAGE, "training": TRAINING})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"Ref": "AWS::Region"}, "us-east-1"),
        ({"Ref": "AWS::AccountId"}, "123456789012"),
        ({"Ref": "AWS::StackName"}, "training"),
        ({"Ref": "Version"}, "7"),
        ({"Ref": "Data"}, "given-name"),
        ({"Fn::GetAtt": ["Data", "Arn"]}, "arn:aws:s3:::given-name"),
        ({"Fn::GetAtt": "Role.Arn"}, "arn:aws:iam::123456789012:role/local-Role"),
        (
            {"Fn::GetAtt": ["Function", "Arn"]},
            "arn:aws:lambda:us-east-1:123456789012:function:local-Function",
        ),
        (
            {"Ref": "Group"},
            "arn:aws:sagemaker:us-east-1:123456789012:model-package-group/spam-models",
        ),
        (
            {"Fn::Sub": "${AWS::Partition}/${Data}/${Role.Arn}/${!Literal}"},
            "aws/given-name/arn:aws:iam::123456789012:role/local-Role/${Literal}",
        ),
        ({"Fn::Sub": ["${a}-${b}", {"a": "1", "b": {"Ref": "Version"}}]}, "1-7"),
        ({"Fn::Join": ["/", ["s3:/", {"Ref": "Data"}]]}, "s3://given-name"),
        ({"Fn::Select": [1, {"Fn::Split": [":", "a:b:c"]}]}, "b"),
        ({"a": [{"Ref": "Version"}, 1, None]}, {"a": ["7", 1, None]}),
    ],
)
def test_resolves(resolver: Resolver, value: object, expected: object) -> None:
    assert resolver.resolve(value, "training", "X") == expected


def test_an_import_is_resolved_in_the_exporting_stack(resolver: Resolver) -> None:
    bucket = resolver.text({"Fn::ImportValue": "storage:bucket"}, "training", "X")
    assert bucket == resolver.text({"Ref": "Data"}, "storage", "X")
    assert re.fullmatch(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]", bucket)
    key = resolver.text({"Fn::ImportValue": "storage:key"}, "training", "X")
    assert re.fullmatch(
        r"arn:aws:kms:us-east-1:123456789012:key/[0-9a-f]{8}(-[0-9a-f]{4,12}){4}", key
    )


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"Ref": "Missing"}, "stack training has no parameter or resource Missing"),
        ({"Ref": "Open"}, "template parameter Open has no Default"),
        ({"Ref": "Table"}, "Ref of Table (AWS::DynamoDB::Table) has no value here"),
        ({"Fn::GetAtt": ["Data", "DomainName"]}, "Fn::GetAtt Data.DomainName (AWS::S3::Bucket)"),
        ({"Fn::ImportValue": "nobody"}, "no stack of the assembly exports 'nobody'"),
        ({"Fn::If": ["c", "a", "b"]}, "Fn::If is not supported"),
        ({"Fn::Select": [3, ["a"]]}, "does not exist"),
        ({"Fn::Join": ["", [1]]}, "1 is not a string"),
        ({"Fn::Join": 3}, "Fn::Join does not take 3"),
        ({"Fn::Select": ["x", ["a"]]}, "Fn::Select does not take ['x', ['a']]"),
        ({"Fn::GetAtt": [1, 2]}, "Fn::GetAtt does not take [1, 2]"),
        ({"Fn::Sub": ["text"]}, "Fn::Sub does not take ['text']"),
    ],
)
def test_refuses_naming_place_and_cause(resolver: Resolver, value: Any, message: str) -> None:  # noqa: ANN401 - JSON
    with pytest.raises(DefinitionError) as error:
        resolver.resolve({"Field": value}, "training", "X")
    assert str(error.value).startswith("X.Field")
    assert message in str(error.value)


def test_names_are_equal_in_equal_templates_and_differ_between_stacks(resolver: Resolver) -> None:
    other = Resolver({"storage": STORAGE, "copy": STORAGE})
    here = resolver.text({"Ref": "Data"}, "storage", "X")
    assert other.text({"Ref": "Data"}, "storage", "X") == here
    assert other.text({"Ref": "Data"}, "copy", "X") != here


def test_finds_a_function_by_its_arn(resolver: Resolver) -> None:
    arn = "arn:aws:lambda:us-east-1:123456789012:function:local-Function"
    assert resolver.resource_by_arn(arn, "AWS::Lambda::Function") == (
        "training",
        TRAINING["Resources"]["Function"],
    )
    assert resolver.resource_by_arn(f"{arn}-other", "AWS::Lambda::Function") is None
